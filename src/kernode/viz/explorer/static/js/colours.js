// Okabe and Ito's colours, which people tell apart who do not see red, green or blue as others do. Beyond seven
// classes the shape changes, so that no two of the first 35 look the same.

import { svg } from "./dom.js";

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442"];
const ON_DARK = ["#3d9bdc", "#e69f00", "#14b88a", "#dd93bb", "#f07a2b", "#7cc8f5", "#f0e442"];
const UNKNOWN = ["#9aa2ab", "#666e77"];
const SHAPES = [
  "M6 .5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11z",
  "M1 1h10v10H1z",
  "M6 .3 11.7 10.8H.3z",
  "M6 0l6 6-6 6-6-6z",
  "M4 .5h4V4h3.5v4H8v3.5H4V8H.5V4H4z",
];

export const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

export function colourOf(number, dark) {
  if (number < 0) return UNKNOWN[dark ? 1 : 0];
  return (dark ? ON_DARK : COLOURS)[number % COLOURS.length];
}

export const shapeOf = (number) => (number < 0 ? 0 : Math.floor(number / COLOURS.length) % SHAPES.length);

export const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

export function swatch(number) {
  const path = svg("path", { d: SHAPES[shapeOf(number)], fill: colourOf(number, isDark()), "data-class": number });
  return svg("svg", { class: "swatch", viewBox: "0 0 12 12", "aria-hidden": "true" }, path);
}

// After the theme changed.
export function recolour(root) {
  for (const path of root.querySelectorAll("[data-class]")) {
    path.setAttribute("fill", colourOf(Number(path.dataset.class), isDark()));
  }
}
