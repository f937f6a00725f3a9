// What is shown stands in the address: #node=NAME, #pair=NAME,NAME, #new. So links and the back button work.

const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // half an escape: taken as it is
  }
};

// encodeURIComponent leaves no comma, so that one between two names is the one between them.
export const toNode = (name) => `#node=${encodeURIComponent(name)}`;
export const toPair = (name, other) => `#pair=${encodeURIComponent(name)},${encodeURIComponent(other)}`;

export function current() {
  const [what, rest] = [location.hash.slice(1).split("=", 1)[0], location.hash.slice(1)];
  const given = rest.slice(what.length + 1);
  if (what === "node" && given) return { view: "node", name: decoded(given) };
  if (what === "pair" && given.includes(",")) {
    const [name, other] = given.split(",", 2).map(decoded);
    return { view: "pair", name, other };
  }
  return { view: what === "new" ? "new" : "home" };
}

export const go = (address) => {
  location.hash = address;
};
