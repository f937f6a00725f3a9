// Everything together: load the model and the picture, then show what the address says.

import { current, get, getPicture, go, toNode, toPair, Unreachable } from "./api.js";
import { newPanel } from "./changes.js";
import { el, recolour, theme, useRanges } from "./dom.js";
import { NodeMap } from "./map.js";
import { numberPanel } from "./numbers.js";
import { homePanel, nodePanel, pairPanel } from "./panels.js";
import { combobox, findNodes, nodeOption } from "./picker.js";

const VIEWS = { node: nodePanel, pair: pairPanel, new: newPanel, home: homePanel };
const panel = document.getElementById("panel");
const notice = document.getElementById("notice");
let context = null;
let shown = 0;

// The server is unreachable: show it once, with a button to try again.
function lost(error) {
  const again = el("button", { type: "button", onclick: () => { notice.hidden = true; (context ? show : start)(); } }, "Try again");
  notice.replaceChildren(error.message, again);
  notice.hidden = false;
}

// Show an answer in a place, or the reason why there is none.
async function attempt(place, work) {
  place.setAttribute("aria-busy", "true");
  try {
    place.replaceChildren(await work());
    notice.hidden = true;
  } catch (error) {
    if (error instanceof Unreachable) lost(error);
    else place.replaceChildren(el("p", { class: "wrong", role: "alert" }, error.message));
  } finally {
    place.removeAttribute("aria-busy");
  }
}

async function show() {
  const number = (shown += 1);
  const asked = current();
  panel.setAttribute("aria-busy", "true");
  try {
    const content = await VIEWS[asked.view](asked, context);
    if (number !== shown) return; // another view was opened
    panel.replaceChildren(...content.filter((one) => one !== ""));
    notice.hidden = true;
  } catch (error) {
    if (number !== shown) return;
    if (error instanceof Unreachable) {
      lost(error);
      return;
    }
    panel.replaceChildren(el("h2", {}, "No answer"), el("p", { class: "wrong", role: "alert" }, error.message), el("p", {}, el("a", { href: "#" }, "Back to the start")));
  } finally {
    if (number === shown) panel.removeAttribute("aria-busy");
  }
  panel.scrollTop = 0;
  panel.dataset.shown = location.hash;
}

async function start() {
  try {
    // All of it before anything is made: whoever tries again begins with an empty page.
    const [model, picture, { nodes: begin }] = await Promise.all([get("model"), getPicture(), get("nodes", { limit: 3 })]);
    const numbers = new Map(model.classes.map((one, number) => [one.name, number]));
    document.getElementById("graph").textContent = model.graph;
    const ofNumbers = model.task === "numbers";
    if (ofNumbers) {
      useRanges(model.classes.length);
      VIEWS.node = numberPanel;
    }
    const map = new NodeMap(model.classes, ofNumbers ? model.target : "Class", async (index, compare) => {
      try {
        const name = (await named())[index];
        const { view, name: first } = current();
        go(compare && view !== "home" && first !== undefined && first !== name ? toPair(first, name) : toNode(name));
      } catch (error) {
        lost(error);
      }
    });
    let names = null; // asked for last, for there are many; a click that finds none asks again
    const named = async () => {
      names ??= await get("names");
      map.names = names;
      return names;
    };
    map.show(picture);
    performance.mark("first-picture");
    context = { model, map, attempt, lost, begin, numberOf: (name) => numbers.get(name) ?? -1 };
    addSearch();
    theme(document.getElementById("theme"), () => { map.recolour(); recolour(document); });
    window.addEventListener("hashchange", show);
    notice.hidden = true;
    await show();
    await named();
    map.draw();
  } catch (error) {
    lost(error);
  }
}

function addSearch() {
  const { field, input } = combobox({
    label: "Search a node by name", placeholder: "Search a node by name", find: findNodes, shown: nodeOption(context.numberOf),
    lost, choose: (node) => { go(toNode(node.name)); panel.focus({ preventScroll: true }); },
  });
  document.getElementById("search").replaceChildren(field);
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    }
  });
}

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); panel.focus(); });
start();
