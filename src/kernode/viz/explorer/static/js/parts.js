// Tables of chances and of parts of a sum: a bar, a sign and a number for each, and the remainder in the last row.

import { swatch } from "./colours.js";
import { el } from "./dom.js";
import { toNode } from "./route.js";
import { count, hopsAway, percent, plural, plusMinus, signed } from "./words.js";

const meter = (share) => el("span", { class: "meter", "aria-hidden": "true" }, el("i", { style: { width: `${100 * share}%` } }));

function signedMeter(value, largest) {
  const width = `${largest ? (50 * Math.abs(value)) / largest : 0}%`;
  return el("span", { class: "meter signed", "aria-hidden": "true" }, el("i", { class: value < 0 ? "takes" : "adds", style: { width } }));
}

export const nodeLink = (node, text = node.name) =>
  node.index === null ? el("b", {}, node.name) : el("a", { href: toNode(node.name) }, text);

export function nodeNamed(node, numberOf) {
  const known = node.known_class ?? node.predicted_class;
  return el("span", { class: "named" }, known === undefined ? "" : swatch(numberOf(known)), nodeLink(node));
}

// The likeliest classes, those among them that are not next to impossible, and all others as one row.
export function chancesTable(chances, numberOf, most = 8, before = null) {
  const likely = chances.filter((one) => one.chance >= 0.0005).length;
  const shown = chances.slice(0, Math.min(most, Math.max(likely, 3)));
  const was = before && new Map(before.map((one) => [one.class, one.chance]));
  const rows = shown.map((one) =>
    el("tr", {},
      el("td", { class: "grow" }, el("span", { class: "named" }, swatch(numberOf(one.class)), el("span", {}, one.class))),
      el("td", {}, meter(one.chance)),
      was ? el("td", { class: "number" }, percent(was.get(one.class)), " →") : "",
      el("td", { class: "number" }, percent(one.chance))));
  const rest = chances.slice(shown.length);
  if (rest.length) {
    const sum = rest.reduce((total, one) => total + one.chance, 0);
    rows.push(el("tr", { class: "rest" }, el("td", { class: "grow" }, rest.length === 1 ? "1 other class" : `${count(rest.length)} other classes`), el("td"), was ? el("td") : "", el("td", { class: "number" }, percent(sum))));
  }
  return el("table", { class: "rows" }, el("tbody", {}, rows));
}

const value = (part) => el("td", { class: "number" }, signed(part.value), part.spread === null ? "" : el("small", {}, ` ${plusMinus(part.spread, part.value)}`));

const largestOf = (values) => Math.max(...values.map(Math.abs), 1e-12);

// Without a bar: a remainder of thousands would make those of single parts too short to compare.
function rest(label, sum, columns) {
  return el("tr", { class: "rest" }, el("td", { class: "grow", colspan: String(columns + 1) }, label), el("td", { class: "number" }, signed(sum)));
}

function total(label, sum, columns) {
  return el("tr", { class: "sum" }, el("td", { class: "grow", colspan: String(columns + 1) }, label), el("td", { class: "number" }, signed(sum)));
}

export function neighboursTable(shown, numberOf, extra = []) {
  const largest = largestOf(shown.parts.map((part) => part.value));
  const rows = shown.parts.map((part) => {
    const words = part.words.map((word) => `${word.name} ${signed(word.value)}`).join(", ");
    return [
      el("tr", {},
        el("td", { class: "grow" }, nodeNamed(part, numberOf)),
        el("td", { class: "tight" }, el("small", {}, hopsAway(part.hops))),
        el("td", {}, signedMeter(part.value, largest)),
        value(part)),
      words ? el("tr", { class: "words" }, el("td", { colspan: "4" }, el("small", {}, words))) : "",
    ];
  });
  if (shown.rest_count) rows.push(rest(`${count(shown.rest_count)} other ${shown.rest_count === 1 ? "node" : "nodes"}`, shown.rest, 2));
  for (const [label, sum] of extra) rows.push(rest(label, sum, 2));
  const whole = shown.parts.reduce((sum, part) => sum + part.value, 0) + shown.rest + extra.reduce((sum, one) => sum + one[1], 0);
  return el("table", { class: "rows" }, el("tbody", {}, rows, total("together", whole, 2)));
}

export function featuresTable(features, extra = []) {
  const others = [
    [features.rest_count, `${count(features.rest_count)} other features`, features.rest],
    [features.constant, "biases", features.constant],
    [features.other_count, `features of ${plural(features.other_count, "other node")}`, features.other_nodes],
    ...extra.map(([label, sum]) => [sum, label, sum]),
  ].filter(([there]) => there);
  const largest = largestOf(features.parts.map((part) => part.value));
  const rows = features.parts.map((part) =>
    el("tr", {}, el("td", { class: "grow" }, part.name), el("td", {}, signedMeter(part.value, largest)), value(part)));
  rows.push(...others.map(([, label, sum]) => rest(label, sum, 1)));
  const whole = [...features.parts.map((part) => part.value), ...others.map((one) => one[2])].reduce((a, b) => a + b, 0);
  return el("table", { class: "rows" }, el("tbody", {}, rows, total("together", whole, 1)));
}

export function hopsTable(hops, bias) {
  const largest = largestOf(hops.map((hop) => hop.value));
  const rows = hops.map((hop) =>
    el("tr", {}, el("td", { class: "grow" }, hop.hops === 0 ? "the node itself" : `over ${plural(hop.hops, "hop")}`), el("td", {}, signedMeter(hop.value, largest)), el("td", { class: "number" }, signed(hop.value))));
  if (bias) rows.push(rest("what every node has", bias, 1));
  const whole = hops.reduce((sum, hop) => sum + hop.value, 0) + bias;
  return el("table", { class: "rows" }, el("tbody", {}, rows, total("together", whole, 1)));
}

export function pairsTable(found, numberOf) {
  const largest = largestOf(found.pairs.map((part) => part.value));
  const rows = found.pairs.map((part) =>
    el("tr", {},
      el("td", { class: "grow" }, [["left", ""], ["right", "and "]].map(([side, and]) =>
        [el("span", { class: "whole" }, and, nodeNamed(part[side], numberOf), el("small", {}, ` ${hopsAway(part[`${side}_hops`])}`)), " "])),
      el("td", {}, signedMeter(part.value, largest)),
      value(part)));
  if (found.rest_count) rows.push(rest(`${count(found.rest_count)} other pairs`, found.rest, 1));
  return el("table", { class: "rows" }, el("tbody", {}, rows, total("K", found.similarity, 1)));
}

export function similarTable(similar, numberOf, compare) {
  const rows = similar.map((node) =>
    el("tr", {},
      el("td", { class: "grow" }, nodeNamed(node, numberOf)),
      el("td", {}, meter(Math.max(0, node.similarity))),
      el("td", { class: "number" }, node.similarity.toFixed(3)),
      compare ? el("td", { class: "number" }, el("a", { href: compare(node.name), "aria-label": `Why alike to ${node.name}` }, "why")) : ""));
  return el("table", { class: "rows" }, el("tbody", {}, rows));
}
