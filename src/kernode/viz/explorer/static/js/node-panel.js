// One node: its class, who is alike, and why. The three answers stand first; what they are made of follows.

import { get } from "./api.js";
import { swatch } from "./colours.js";
import { combobox } from "./combobox.js";
import { el } from "./dom.js";
import { neighbourhood } from "./neighbourhood.js";
import { chancesTable, featuresTable, hopsTable, neighboursTable, nodeLink, similarTable } from "./parts.js";
import { findNodes, nodeOption } from "./picker.js";
import { go, toPair } from "./route.js";
import { whatIf } from "./what-if.js";
import { hopsAway, percent, plural, signed } from "./words.js";

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
    el("section", {}, el("h3", {}, model.calibrated ? "How likely each class is" : "Class probabilities"), chancesTable(node.chances, numberOf)),
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
  const known = node.known_class === null ? "not known" : node.known_class === best.class ? "the same" : [swatch(numberOf(node.known_class)), node.known_class];
  rows.push(["Known class", "known", known]);
  if (node.listed === false) rows.push(["Table", "listed", "not listed: only edges mention it"]);
  if (nearest) rows.push(["Most similar", "nearest", [nodeLink(nearest), ` ${nearest.similarity.toFixed(3)}`]]);
  if (most) rows.push(["Mattered most", "mattered", [nodeLink(most), ` ${signed(most.value)} `, el("span", { class: "muted" }, `${hopsAway(most.hops)} away`)]]);
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
  const bias = found.class_bias ? [["what every node has", found.class_bias]] : [];
  return el("div", { class: "stack" },
    el("p", { class: "muted" }, `${found.of_class} leads over ${found.against} by ${signed(found.lead)} in score. Each table is the same sum, taken apart; what is not shown is one row.`),
    neighbourhood(found, node, numberOf),
    el("h3", {}, "By neighbour"), neighboursTable(found.neighbours, numberOf, bias),
    fold("By hop", hopsTable(found.hops, found.class_bias)),
    fold("By feature", featuresTable(found.features, bias)),
    found.held ? el("p", { class: "muted" }, found.held) : "");
}

export const fold = (title, content) => el("details", {}, el("summary", {}, title), content);

function compareWith(node, { numberOf, lost }) {
  const { field } = combobox({
    label: "Compare with another node", placeholder: "Name of a node, or Shift-click one on the map",
    find: findNodes, shown: nodeOption(numberOf), lost, choose: (other) => go(toPair(node.name, other.name)),
  });
  return [field, el("p", { class: "muted" }, `${node.name} has ${plural(node.degree, "edge")} and ${plural(node.feature_count, "feature")} other than 0.`)];
}
