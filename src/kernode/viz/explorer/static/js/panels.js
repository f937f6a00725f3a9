// The panel beside the map: the start, one node, two nodes. Each function returns the elements to show.

import { get, go, toNode, toPair } from "./api.js";
import { whatIf } from "./changes.js";
import { count, el, fold, hopsAway, percent, plain, plural, signed, swatch } from "./dom.js";
import { chancesTable, featuresTable, hopsTable, neighbourhood, neighboursTable, nodeLink, nodeNamed, pairsTable, similarTable } from "./parts.js";
import { combobox, findNodes, nodeOption } from "./picker.js";

export function homePanel(_, { model, map, begin }) {
  map.mark([]);
  document.title = `${model.graph} · kernode explorer`;
  const facts = [
    ["Graph", `${count(model.nodes)} nodes, ${count(model.edges)} edges, ${count(model.features)} features`],
    ["Model", model.task === "numbers" ? model.variant : `${model.variant || "kernel"}, ${plural(model.runs, "replica")}`],
    model.map === null ? ["Known", `${plural(model.known, "number")}: ${plain(model.mean)} ± ${plain(model.spread)}`] : ["Map g", model.map],
    ["Kernel", model.kernel],
  ];
  const [what, group] = model.task === "numbers" ? [model.target, "a range"] : ["class", "a class name"];
  return [
    el("div", {}, el("p", { class: "kicker" }, "Graph"), el("h2", {}, model.graph)),
    el("p", {}, "Every point is a node. Similar nodes, by the learned kernel, are near each other; the colour is the ", what, "."),
    el("p", {}, "Choose one to see its ", what, ", its most similar nodes and an exact explanation: click a point, or search for a name ", el("kbd", {}, "/"), "."),
    el("p", { class: "buttons" }, begin.map((node) => el("a", { class: "button", href: toNode(node.name) }, node.name)), el("span", { class: "muted" }, "examples")),
    el("dl", { class: "facts" }, facts.map(([term, said]) => [el("dt", {}, term), el("dd", {}, said)])),
    el("p", { class: "muted" }, "Shift-click a second point to compare two nodes. Click ", group, " below the map to highlight its nodes."),
  ];
}

// One node: class, most similar node and largest contribution first, then the details.

export async function nodePanel({ name }, context) {
  const { model, numberOf, map } = context;
  const [node, alike, why] = await Promise.all([
    get("node", { name }),
    get("similar", { name, k: 10 }),
    model.no_explanation ? null : get("explain", { name, top: 10 }),
  ]);
  map.mark([node.index], alike.similar.map((one) => one.index));
  document.title = `${node.name} · ${model.graph} · kernode`;
  const best = node.chances[0];
  return [
    el("div", {}, el("p", { class: "kicker" }, "Node"), el("h2", {}, node.name)),
    glance(node, best, alike, why, numberOf),
    el("section", {}, el("h3", {}, model.calibrated ? "Class probabilities" : "Class probabilities (not calibrated)"), chancesTable(node.chances, numberOf)),
    el("section", {}, why ? await whySection(node, why, context) : [el("h3", {}, "Why"), el("p", { class: "muted" }, model.no_explanation)]),
    el("section", {}, el("h3", {}, "Most similar nodes"), similarTable(alike.similar, numberOf, (other) => toPair(node.name, other))),
    el("section", {}, el("h3", {}, "Compare with"), compareWith(node, context)),
    whatIf(node, context),
  ];
}

function glance(node, best, alike, why, numberOf) {
  const nearest = alike.similar[0];
  const most = why?.neighbours.parts.find((part) => part.hops > 0);
  const rows = [["Class", "class", [swatch(numberOf(best.class)), el("b", {}, best.class), ` ${percent(best.chance)}`]]];
  const known = node.known_class === null ? "not known" : node.known_class === best.class ? "same" : [swatch(numberOf(node.known_class)), node.known_class];
  rows.push(["Known class", "known", known]);
  if (node.listed === false) rows.push(["Table", "listed", "not listed: only edges mention it"]);
  if (nearest) rows.push(["Most similar", "nearest", [nodeLink(nearest), ` ${nearest.similarity.toFixed(3)}`]]);
  if (most) rows.push(["Largest contribution", "mattered", [nodeLink(most), ` ${signed(most.value)} `, el("span", { class: "muted" }, `${hopsAway(most.hops)} away`)]]);
  return el("dl", { class: "glance" }, rows.map(([term, id, said]) => [el("dt", {}, term), el("dd", { id: `glance-${id}` }, said)]));
}

async function whySection(node, first, context) {
  const { model, numberOf, attempt } = context;
  const body = el("div", {});
  const names = model.model_classes;
  const choice = (label, chosen) => el("select", { "aria-label": label }, names.map((one) => el("option", { value: one, selected: one === chosen }, one)));
  const [of, against] = [choice("Class to explain", first.of_class), choice("Class that it leads over", first.against)];
  const asked = () => attempt(body, async () =>
    explained(node, await get("explain", { name: node.name, top: 10, of_class: of.value, against: against.value }), context));
  of.addEventListener("change", asked);
  against.addEventListener("change", asked);
  body.replaceChildren(explained(node, first, context));
  return [el("h3", {}, "Why"), el("p", { class: "choices" }, of, "and not", against), body];
}

function explained(node, found, { numberOf }) {
  const bias = found.class_bias ? [["constant", found.class_bias]] : [];
  return el("div", { class: "stack" },
    el("p", { class: "muted" }, `${found.of_class} leads over ${found.against} by ${signed(found.lead)} in score. Each table splits this sum; the parts not listed are one row.`),
    neighbourhood(found, node, numberOf),
    el("h3", {}, "By neighbour"), neighboursTable(found.neighbours, numberOf, bias),
    fold("By hop", hopsTable(found.hops, found.class_bias)),
    fold("By feature", featuresTable(found.features, bias)),
    found.held ? el("p", { class: "muted" }, found.held) : "");
}

export function compareWith(node, { numberOf, lost }) {
  const { field } = combobox({
    label: "Compare with another node", placeholder: "Name of a node, or Shift-click one on the map",
    find: findNodes, shown: nodeOption(numberOf), lost, choose: (other) => go(toPair(node.name, other.name)),
  });
  return [field, el("p", { class: "muted" }, `${node.name} has ${plural(node.degree, "edge")} and ${plural(node.feature_count, "nonzero feature")}.`)];
}

// Two nodes: K(u, v), and which pairs of neighbours, which neighbours and which features make it.

export async function pairPanel({ name, other }, context) {
  const { model, numberOf, map } = context;
  const without = model.no_pair ?? model.no_explanation;
  const found = await get(without ? "kernel" : "pair", { name, other });
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
  if (without) return [...top, el("p", { class: "muted" }, without)];
  return [
    ...top,
    el("section", {}, el("h3", {}, "By pairs of neighbours"), el("p", { class: "muted" }, "K is a sum over pairs: a neighbour of one node and a neighbour of the other."), pairsTable(found, numberOf)),
    both.map((node, i) => el("section", {}, el("h3", {}, "Through neighbours of ", nodeLink(node)), neighboursTable(found.neighbours[i], numberOf), fold(`Through features around ${node.name}`, featuresTable(found.features[i])))),
    found.held ? el("p", { class: "muted" }, found.held) : "",
  ].flat();
}
