// Two nodes: K(u, v), and which pairs of neighbours, which neighbours and which features make it.

import { get } from "./api.js";
import { el } from "./dom.js";
import { fold } from "./node-panel.js";
import { featuresTable, neighboursTable, nodeLink, nodeNamed, pairsTable } from "./parts.js";
import { toPair } from "./route.js";

export async function pairPanel({ name, other }, context) {
  const { model, numberOf, map } = context;
  const found = await get(model.no_explanation ? "kernel" : "pair", { name, other });
  const both = [found.node, found.other];
  map.mark(both.map((node) => node.index));
  document.title = `${name} and ${other} · ${model.graph} · kernode`;
  const spread = found.spread === null || found.spread === undefined ? "" : ` ± ${found.spread.toFixed(3)}`;
  const top = [
    el("div", {}, el("p", { class: "kicker" }, "Two nodes"), el("h2", {}, found.node.name, " and ", found.other.name)),
    el("dl", { class: "glance" },
      el("dt", {}, "K(u, v)"), el("dd", { id: "glance-k" }, el("b", {}, found.similarity.toFixed(4)), spread),
      both.map((node, i) => [el("dt", {}, i ? "v" : "u"), el("dd", {}, nodeNamed(node, numberOf), " ", el("span", { class: "muted" }, node.known_class ?? `${node.predicted_class} (predicted)`))])),
    el("p", { class: "buttons" }, el("a", { class: "button", href: toPair(other, name) }, "Swap"), el("span", { class: "muted" }, found.kernel)),
  ];
  if (model.no_explanation) return [...top, el("p", { class: "muted" }, model.no_explanation)];
  return [
    ...top,
    el("section", {}, el("h3", {}, "By pairs of neighbours"), el("p", { class: "muted" }, "K is a sum over pairs: a neighbour of the one and a neighbour of the other."), pairsTable(found, numberOf)),
    both.map((node, i) => el("section", {}, el("h3", {}, "Through neighbours of ", nodeLink(node)), neighboursTable(found.neighbours[i], numberOf), fold(`Through features around ${node.name}`, featuresTable(found.features[i])))),
    found.held ? el("p", { class: "muted" }, found.held) : "",
  ].flat();
}
