// Before anything is chosen: what this is, and how to begin.

import { el } from "./dom.js";
import { toNode } from "./route.js";
import { count, plural } from "./words.js";

export function homePanel(_, { model, map, begin }) {
  map.mark([]);
  document.title = `${model.graph} · kernode explorer`;
  const facts = [
    ["Graph", `${count(model.nodes)} nodes, ${count(model.edges)} edges, ${count(model.features)} features`],
    ["Model", `${model.variant || "kernel"}, ${plural(model.runs, "run")}${model.runs > 1 ? " together" : ""}`],
    ["Map g", model.map],
    ["Kernel", model.kernel],
  ];
  return [
    el("div", {}, el("p", { class: "kicker" }, "Graph"), el("h2", {}, model.graph)),
    el("p", {}, "Every point is a node. Nodes that the learned kernel finds alike are near each other; the colour is the class."),
    el("p", {}, "Choose one to see its class, who is most like it, and exactly why: click a point, or search for a name ", el("kbd", {}, "/"), "."),
    el("p", { class: "buttons" }, begin.map((node) => el("a", { class: "button", href: toNode(node.name) }, node.name)), el("span", { class: "muted" }, "for a start")),
    el("dl", { class: "facts" }, facts.map(([term, said]) => [el("dt", {}, term), el("dd", {}, said)])),
    el("p", { class: "muted" }, "Shift-click a second point to compare two nodes. The class names beside the map pick out one class."),
  ];
}
