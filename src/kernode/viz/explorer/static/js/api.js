// Requests to the server, which may refuse with a sentence or be unreachable; and the address of what is shown.

class Refused extends Error {}
export class Unreachable extends Error {}

async function answered(path, options) {
  let reply;
  try {
    reply = await fetch(`api/${path}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Unreachable("The server does not answer. Is it still running?");
  }
  if (reply.ok) return reply;
  const said = await reply.json().catch(() => null);
  if (reply.status >= 502 && reply.status <= 504) throw new Unreachable(said?.error ?? "The server does not answer.");
  throw new Refused(said?.error ?? `The server answered with status ${reply.status}.`);
}

export async function get(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return (await answered(query ? `${path}?${query}` : path, { signal })).json();
}

export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  return (await answered(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

// The layout in binary, see /api/layout.
export async function getPicture() {
  const buffer = await (await answered("layout", {})).arrayBuffer();
  const n = new DataView(buffer).getUint32(0, true);
  return {
    n,
    places: new Uint16Array(buffer, 8, 2 * n),
    predicted: new Uint16Array(buffer, 8 + 4 * n, n),
    known: new Uint16Array(buffer, 8 + 6 * n, n),
    sure: new Uint8Array(buffer, 8 + 8 * n, n),
  };
}

// The address names what is shown, for links and the back button: #node=NAME, #pair=NAME,NAME, #new.

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
