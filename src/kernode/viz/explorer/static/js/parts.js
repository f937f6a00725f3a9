// Tables of chances and of parts of a sum: a bar, a sign and a number for each, and the remainder in the last row.

import { go, toNode } from "./api.js";
import { colourOf, count, el, hopsAway, isDark, percent, plural, plusMinus, short, signed, svg, swatch } from "./dom.js";

const meter = (share) => el("span", { class: "meter", "aria-hidden": "true" }, el("i", { style: { width: `${100 * share}%` } }));

export function signedMeter(value, largest) {
  const width = `${largest ? (50 * Math.abs(value)) / largest : 0}%`;
  return el("span", { class: "meter signed", "aria-hidden": "true" }, el("i", { class: value < 0 ? "takes" : "adds", style: { width } }));
}

export const nodeLink = (node, text = node.name) =>
  node.index === null ? el("b", {}, node.name) : el("a", { href: toNode(node.name) }, text);

export function nodeNamed(node, numberOf) {
  const known = node.known_class ?? node.predicted_class;
  return el("span", { class: "named" }, known === undefined ? "" : swatch(numberOf(known)), nodeLink(node));
}

// The most probable classes, and all others as one row.
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
  return el("table", { class: "rows" }, el("tbody", {}, rows, total("total", whole, 2)));
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
  return el("table", { class: "rows" }, el("tbody", {}, rows, total("total", whole, 1)));
}

export function hopsTable(hops, bias) {
  const largest = largestOf(hops.map((hop) => hop.value));
  const rows = hops.map((hop) =>
    el("tr", {}, el("td", { class: "grow" }, hop.hops === 0 ? "the node itself" : hop.hops < 0 ? "not connected" : `over ${plural(hop.hops, "hop")}`), el("td", {}, signedMeter(hop.value, largest)), el("td", { class: "number" }, signed(hop.value))));
  if (bias) rows.push(rest("constant", bias, 1));
  const whole = hops.reduce((sum, hop) => sum + hop.value, 0) + bias;
  return el("table", { class: "rows" }, el("tbody", {}, rows, total("total", whole, 1)));
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

// about(node): what is said of it, next to its name.
export function similarTable(similar, numberOf, compare, about = () => "") {
  const rows = similar.map((node) =>
    el("tr", {},
      el("td", { class: "grow" }, nodeNamed(node, numberOf), " ", el("small", {}, about(node))),
      el("td", {}, meter(Math.max(0, node.similarity))),
      el("td", { class: "number" }, node.similarity.toFixed(3)),
      compare ? el("td", { class: "number" }, el("a", { href: compare(node.name), "aria-label": `Why similar to ${node.name}` }, "why")) : ""));
  return el("table", { class: "rows" }, el("tbody", {}, rows));
}

// A node's neighbourhood as a graph: the node in the middle, others on a ring for each hop. A line is as thick as what
// the node at its outer end adds; lines that take away are dashed, and every node has its sign and number beside it.

const [WIDTH, RING, MARGIN] = [440, 92, 62];

function placed(links, centre) {
  const below = new Map();
  for (const { from, to } of links) below.set(from, [...(below.get(from) ?? []), to]);
  const leaves = (node) => (below.has(node) ? below.get(node).reduce((sum, one) => sum + leaves(one), 0) : 1);
  const places = new Map([[centre, { x: 0, y: 0, hop: 0 }]]);
  let furthest = 1;
  const spread = (node, hop, from, to) => {
    const all = leaves(node);
    let start = from;
    for (const one of below.get(node) ?? []) {
      const end = start + ((to - from) * leaves(one)) / all;
      const angle = (start + end) / 2;
      furthest = Math.max(furthest, hop + 1);
      places.set(one, { x: Math.cos(angle) * (hop + 1), y: Math.sin(angle) * (hop + 1), hop: hop + 1, angle });
      spread(one, hop + 1, start, end);
      start = end;
    }
  };
  spread(centre, 0, -Math.PI / 2, 1.5 * Math.PI);
  return { places, furthest };
}

export function neighbourhood(found, centre, numberOf) {
  const parts = new Map(found.neighbours.parts.map((part) => [part.index ?? centre.index, part]));
  const passing = new Map(found.passing.map((node) => [node.index, node]));
  const { places, furthest } = placed(found.links, centre.index);
  const ring = RING * (furthest > 2 ? 2 / furthest : furthest === 1 ? 1.35 : 1);
  const reach = ring * furthest;
  const [width, height] = [WIDTH, 2 * (reach + 34)];
  const at = (index) => [width / 2 + places.get(index).x * ring * ((width / 2 - MARGIN) / Math.max(reach, 1)), height / 2 + places.get(index).y * ring];
  // The node's own part has no line, and is mostly the largest: it would make all lines thin.
  const outer = [...parts].filter(([index]) => index !== centre.index);
  const largest = Math.max(...outer.map(([, part]) => Math.abs(part.value)), 1e-12);

  const ties = found.links.map(({ from, to }) => {
    const [[x1, y1], [x2, y2]] = [at(from), at(to)];
    const part = parts.get(to);
    const kind = part ? (part.value < 0 ? "takes" : "adds") : "passing";
    const thick = part ? 1 + 9 * (Math.abs(part.value) / largest) : 1.5;
    return svg("line", { class: `tie ${kind}`, x1, y1, x2, y2, "stroke-width": thick });
  });
  const dots = [...places.keys()].map((index) => {
    const [x, y] = at(index);
    const middle = index === centre.index;
    const part = parts.get(index);
    const node = middle ? centre : (part ?? passing.get(index));
    const known = node.known_class ?? node.predicted_class ?? centre.class;
    const r = middle ? 11 : part ? 7.5 : 4;
    const dot = svg("circle", { class: "dot", cx: x, cy: y, r, fill: colourOf(numberOf(known), isDark()), "data-class": numberOf(known) });
    const right = x >= width / 2 - 1;
    const side = middle ? 0 : right ? r + 4 : -r - 4;
    const anchor = middle ? "middle" : right ? "start" : "end";
    const down = middle ? r + 12 : 0;
    const text = part || middle ? [
      svg("text", { x: x + side, y: y + down + (part && !middle ? -1 : 1), "text-anchor": anchor }, short(node.name, middle ? 20 : 11)),
      part ? svg("text", { class: "value", x: x + side, y: y + down + 11, "text-anchor": anchor }, signed(part.value)) : "",
    ] : [];
    const said = `${node.name}${part ? `, adds ${signed(part.value)}` : ", on the way"}`;
    if (middle || node.index === null) return svg("g", {}, svg("title", {}, said), dot, text);
    const open = (event) => { event.preventDefault(); go(toNode(node.name)); };
    return svg("a", { href: toNode(node.name), "aria-label": said, onclick: open }, svg("title", {}, said), dot, text);
  });
  const rings = Array.from({ length: furthest }, (_, hop) =>
    svg("ellipse", { class: "ring", cx: width / 2, cy: height / 2, rx: (hop + 1) * ring * ((width / 2 - MARGIN) / Math.max(reach, 1)), ry: (hop + 1) * ring }));
  const picture = svg("svg", { class: "around", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Neighbourhood of ${centre.name}` }, rings, ties, dots);
  const line = (kind) => svg("svg", { viewBox: "0 0 32 10", class: "around", "aria-hidden": "true" }, svg("line", { class: `tie ${kind}`, x1: 2, y1: 5, x2: 30, y2: 5, "stroke-width": 4 }));
  const key = el("p", { class: "key" }, el("span", {}, line("adds"), "adds"), el("span", {}, line("takes"), "subtracts"), el("span", {}, "each ring: one hop"));
  return el("div", {}, picture, key);
}
