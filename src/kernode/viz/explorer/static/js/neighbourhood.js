// A node's neighbourhood as a graph: the node in the middle, others on a ring for each hop. A line is as thick as what
// the node at its outer end adds; lines that take away are dashed, and every node has its sign and number beside it.

import { colourOf, isDark } from "./colours.js";
import { el, svg } from "./dom.js";
import { go, toNode } from "./route.js";
import { short, signed } from "./words.js";

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
  const key = el("p", { class: "key" }, el("span", {}, line("adds"), "adds"), el("span", {}, line("takes"), "takes away"), el("span", {}, "a ring is one hop"));
  return el("div", {}, picture, key);
}
