// A field that offers what fits while one types. The keys are those of every such field: up and down, Enter, Escape.

import { Unreachable } from "./api.js";
import { el } from "./dom.js";

let made = 0;

// find(text) gives items, shown(item) what an option consists of, choose(item) is told which one it was.
export function combobox({ label, placeholder, find, shown, choose, keep = false, lost = () => {} }) {
  const id = `options-${(made += 1)}`;
  const list = el("ul", { role: "listbox", id, "aria-label": label, hidden: true });
  const said = el("span", { class: "unseen", role: "status" });
  const input = el("input", {
    type: "text", role: "combobox", "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list",
    "aria-label": label, placeholder, autocomplete: "off", spellcheck: "false", maxlength: "1000",
  });
  let [items, at, asked] = [[], -1, 0];

  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    at = -1;
  };
  const pick = (item) => {
    close();
    input.value = "";
    if (!keep) input.blur();
    choose(item);
  };
  const point = (to) => {
    at = items.length ? (to + items.length) % items.length : -1;
    [...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
    if (at < 0) return;
    input.setAttribute("aria-activedescendant", list.children[at].id);
    list.children[at].scrollIntoView({ block: "nearest" });
  };
  const offer = async () => {
    const number = (asked += 1);
    if (!input.value.trim()) {
      close();
      return;
    }
    let found;
    try {
      found = await find(input.value);
    } catch (error) {
      if (error instanceof Unreachable) lost(error);
      found = [];
    }
    if (number !== asked || document.activeElement !== input) return; // somebody has typed on
    items = found;
    const options = items.map((item, i) =>
      el("li", { role: "option", id: `${id}-${i}`, "aria-selected": "false", onpointerdown: (event) => { event.preventDefault(); pick(item); } }, shown(item)));
    list.replaceChildren(...(options.length ? options : [el("li", { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "Nothing is called that.")]));
    said.textContent = options.length ? `${options.length} found` : "Nothing is called that.";
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    if (items.length) point(0);
  };

  input.addEventListener("input", offer);
  input.addEventListener("focus", () => input.value && offer());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", async (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) await offer();
      else point(at + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (at < 0 || list.hidden) await offer(); // faster than the list
      if (at >= 0 && items[at]) pick(items[at]);
    } else if (event.key === "Escape") {
      if (list.hidden) input.value = "";
      close();
    }
  });
  const field = el("div", { class: "combobox" }, input, list, said);
  return { field, input };
}
