// Numbers and counts as people read them.

const counted = new Intl.NumberFormat("en");

export const count = (number) => counted.format(number);

export const plural = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;

export function percent(chance) {
  if (chance > 0 && chance < 0.0005) return "< 0.1 %";
  if (chance < 1 && chance > 0.9995) return "> 99.9 %";
  return `${(100 * chance).toFixed(1)} %`;
}

const digits = (size) => (size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.001 || size === 0 ? 3 : 5);

export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits(Math.abs(value)))}`;

// As exact as the value that it belongs to.
export const plusMinus = (spread, value) => `± ${spread.toFixed(digits(Math.abs(value)))}`;

export const hopsAway = (hops) => (hops === 0 ? "itself" : plural(hops, "hop"));

export const short = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);
