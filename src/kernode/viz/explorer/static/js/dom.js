// Elements, numbers, colours and the theme. Text is always set as text: a node may have markup as its name.

function build(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value); // not an attribute: the policy forbids those
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function el(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export const fold = (title, content) => el("details", {}, el("summary", {}, title), content);

const counted = new Intl.NumberFormat("en");

export const count = (number) => counted.format(number);

export const plural = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;

export function percent(chance) {
  if (chance > 0 && chance < 0.0005) return "< 0.1\u00a0%";
  if (chance < 1 && chance > 0.9995) return "> 99.9\u00a0%";
  return `${(100 * chance).toFixed(1)}\u00a0%`;
}

const digits = (size) => (size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.001 || size === 0 ? 3 : 5);

export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits(Math.abs(value)))}`;

export const plain = (value) => String(Number(value.toPrecision(4))).replace("-", "−");

export const plainSigned = (value) => (value < 0 ? plain(value) : `+${plain(value)}`);

// As exact as the value that it belongs to.
export const plusMinus = (spread, value) => `± ${spread.toFixed(digits(Math.abs(value)))}`;

export const hopsAway = (hops) => (hops < 0 ? "not connected" : hops === 0 ? "itself" : plural(hops, "hop"));

export const short = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

// Okabe and Ito's palette for colour-blind readers, as in reports. Beyond eight classes the shape changes: the first 40 differ.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#f0e442"];
const ON_DARK = ["#3d9bdc", "#f07a2b", "#14b88a", "#dd93bb", "#e69f00", "#7cc8f5", "#cfcfcf", "#f0e442"];
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

// Ranges of numbers have colours in an order, as in reports: dark to bright, on dark pages without the darkest.
const RAMP = ["#440154", "#3b528b", "#21918c", "#5ec962", "#c5d627"];
const RAMP_ON_DARK = ["#7a6ce0", "#4a86c5", "#2fb3a6", "#8ed95c", "#fdf28a"];
let ranges = 0; // 0: classes

export const useRanges = (number) => {
  ranges = number;
};

function onRamp(at, stops) {
  const place = at * (stops.length - 1);
  const from = Math.min(Math.floor(place), stops.length - 2);
  const [one, two] = [rgb(stops[from]), rgb(stops[from + 1])];
  const mixed = one.map((value, i) => Math.round(value + (two[i] - value) * (place - from)));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

export function colourOf(number, dark) {
  if (number < 0) return UNKNOWN[dark ? 1 : 0];
  if (ranges) return onRamp(number / Math.max(1, ranges - 1), dark ? RAMP_ON_DARK : RAMP);
  return (dark ? ON_DARK : COLOURS)[number % COLOURS.length];
}

export const shapeOf = (number) => (number < 0 || ranges ? 0 : Math.floor(number / COLOURS.length) % SHAPES.length);

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

// Light or dark as the system prefers, until the reader chooses.

export function theme(button, changed) {
  const stored = () => {
    try {
      return localStorage.getItem("kernode-theme");
    } catch {
      return null; // storage may be forbidden; then the choice lasts as long as the page
    }
  };
  const named = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  if (stored()) document.documentElement.dataset.theme = stored();
  named();
  button.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem("kernode-theme", chosen);
    } catch {
      // as above
    }
    named();
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    named();
    changed();
  });
}
