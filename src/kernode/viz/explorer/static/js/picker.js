// Fields with suggestions while typing (up and down, Enter, Escape), and lists of nodes or features chosen with them.

import { get, Unreachable } from "./api.js";
import { el, swatch } from "./dom.js";

let made = 0;

// find(text) gives items, shown(item) what an option consists of, choose(item) is called with the choice.
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
    if (number !== asked || document.activeElement !== input) return; // typing went on
    items = found;
    const options = items.map((item, i) =>
      el("li", { role: "option", id: `${id}-${i}`, "aria-selected": "false", onpointerdown: (event) => { event.preventDefault(); pick(item); } }, shown(item)));
    list.replaceChildren(...(options.length ? options : [el("li", { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "No such name.")]));
    said.textContent = options.length ? `${options.length} found` : "No such name.";
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

export const findNodes = async (text) => (await get("nodes", { search: text, limit: 8 })).nodes;

export const nodeOption = (numberOf) => (node) => {
  const known = node.known_class ?? node.predicted_class;
  return [swatch(numberOf(known)), node.name, el("small", {}, known)];
};

export function nodePicker(label, numberOf, lost) {
  const chosen = new Map();
  const chips = el("ul", { class: "chips" });
  const { field, input } = combobox({
    label, placeholder: `${label} …`, find: findNodes, shown: nodeOption(numberOf), keep: true, lost,
    choose: (node) => {
      if (chosen.has(node.name)) return;
      const chip = el("li", {}, el("button", { type: "button", "aria-label": `Leave out ${node.name}`, onclick: () => {
        chosen.delete(node.name);
        chip.remove();
        input.focus();
      } }, `${node.name} ×`));
      chosen.set(node.name, chip);
      chips.append(chip);
    },
  });
  return { field: el("div", {}, chips, field), names: () => [...chosen.keys()] };
}

// Text that is not a number is sent as it is: the server refuses it with a sentence.
export const numberOrText = (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

export function featurePicker(label, lost) {
  const chosen = new Map();
  const chips = el("ul", { class: "chips" });
  const { field } = combobox({
    label, placeholder: `${label} …`, find: async (text) => (await get("features", { search: text, limit: 8 })).features,
    shown: ({ name, unit }) => [name, unit ? el("small", {}, unit) : ""], keep: true, lost,
    choose: ({ name, unit }) => {
      if (chosen.has(name)) return;
      const input = el("input", { type: "number", step: "any", value: "1", "aria-label": `Value of ${name}` });
      const chip = el("li", {}, name, input, unit ? el("small", {}, unit) : "", el("button", { type: "button", "aria-label": `Leave out ${name}`, onclick: () => {
        chosen.delete(name);
        chip.remove();
      } }, "×"));
      chosen.set(name, input);
      chips.append(chip);
      input.focus();
      input.select();
    },
  });
  const values = () => Object.fromEntries([...chosen].map(([name, input]) => [name, numberOrText(input.value)]));
  return { field: el("div", {}, chips, field), values };
}
