// Panels of a model of numbers: a node with its interval and explanation, and answers about changes.

import { get } from "./api.js";
import { whatIf } from "./changes.js";
import { count, el, plain, plainSigned, swatch } from "./dom.js";
import { compareWith } from "./panels.js";
import { nodeLink, nodeNamed, signedMeter, similarTable } from "./parts.js";

const withDeviation = ({ number, deviation }) => `${plain(number)} ± ${plain(Number(deviation.toPrecision(2)))}`;

export async function numberPanel({ name }, context) {
  const { model, numberOf, map } = context;
  const [node, alike, why] = await Promise.all([get("node", { name }), get("similar", { name, k: 10 }), get("explain", { name, top: 10 })]);
  map.mark([node.index], alike.similar.map((one) => one.index));
  document.title = `${node.name} · ${model.graph} · kernode`;
  return [
    el("div", {}, el("p", { class: "kicker" }, "Node"), el("h2", {}, node.name)),
    glance(node, alike, model, numberOf),
    el("section", {}, el("h3", {}, "Why"), explained(why, numberOf)),
    el("section", {}, el("h3", {}, "Most similar nodes"), similarTable(alike.similar, numberOf, null, (one) => plain(one.known ?? one.predicted))),
    el("section", {}, el("h3", {}, "Compare with"), compareWith(node, context)),
    whatIf(node, context),
  ];
}

function glance(node, alike, model, numberOf) {
  const nearest = alike.similar[0];
  const rows = [
    [`Predicted ${model.target}`, "number", [swatch(numberOf(node.predicted_class)), el("b", {}, withDeviation(node))]],
    [`Known ${model.target}`, "known", node.known === null ? "not known" : [swatch(numberOf(node.known_class)), plain(node.known), el("span", { class: "muted" }, node.learned ? " learned from" : "")]],
  ];
  if (node.interval) {
    const said = node.interval.map(plain).join(" to ");
    rows.splice(1, 0, [`${count(100 * model.interval.coverage)} % interval`, "interval", [said, el("span", { class: "muted" }, ` ${model.interval.method}`)]]);
  }
  if (node.listed === false) rows.push(["Table", "listed", "not listed: only edges mention it"]);
  if (nearest) rows.push(["Most similar", "nearest", [nodeLink(nearest), ` ${nearest.similarity.toFixed(3)}`]]);
  return el("dl", { class: "glance" }, rows.map(([term, id, said]) => [el("dt", {}, term), el("dd", { id: `glance-${id}` }, said)]));
}

// Both sums, from the mean to the number.
function explained(found, numberOf) {
  const mean = ["the mean", found.mean];
  const parts = Object.entries(found.parts).map(([about, value]) => ({ label: about, value }));
  const known = found.numbers.map((one) => ({ label: nodeNamed(one, numberOf), value: one.value, about: `${plain(one.number)}, weight ${plainSigned(Number(one.weight.toFixed(3)))}` }));
  const others = found.rest_count ? [[`${count(found.rest_count)} other known numbers`, found.rest]] : [];
  return el("div", { class: "stack" },
    el("p", { class: "muted" }, "The number is the mean of the known ones, and what features and edges add. It is also the mean, and each known number's distance from it, times a weight."),
    sumTable(parts, [mean], found.number),
    el("h3", {}, "By known number"), sumTable(known, [...others, mean], found.number));
}

function sumTable(parts, rest, number) {
  const largest = Math.max(...parts.map((part) => Math.abs(part.value)), 1e-12);
  const cell = (value) => el("td", { class: "number" }, plainSigned(value));
  const row = (kind, label, value) => el("tr", { class: kind }, el("td", { class: "grow", colspan: "2" }, label), el("td", { class: "number" }, value));
  return el("table", { class: "rows" }, el("tbody", {},
    parts.map((part) => el("tr", {}, el("td", { class: "grow" }, part.label, part.about ? el("small", {}, ` ${part.about}`) : ""), el("td", {}, signedMeter(part.value, largest)), cell(part.value))),
    rest.map(([label, value]) => row("rest", label, plainSigned(value))),
    row("sum", "number", plain(number))));
}

export function changedNumber(found, model) {
  const change = plainSigned(found.after.number - found.before.number);
  return el("div", { class: "answer" },
    el("p", { id: "changed-number" }, `The ${model.target} would be `, el("b", {}, withDeviation(found.after)), ` instead of ${withDeviation(found.before)} (${change}).`),
    found.notes.map((note) => el("p", { class: "muted" }, note)));
}

export function newNumber(found, model, numberOf) {
  return el("div", { class: "panel-answer" },
    el("div", { class: "answer" },
      el("p", { id: "new-number" }, swatch(numberOf(found.class)), ` ${model.target}: `, el("b", {}, withDeviation(found))),
      found.notes.map((note) => el("p", { class: "muted" }, note))),
    el("section", {}, el("h3", {}, "Why"), explained(found.explanation, numberOf)),
    el("section", {}, el("h3", {}, "Most similar nodes"), similarTable(found.similar, numberOf, null, (one) => plain(one.known ?? one.predicted))));
}
