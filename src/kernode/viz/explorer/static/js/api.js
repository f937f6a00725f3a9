// Questions to the server. What goes wrong is one of two things: it refuses with a sentence, or it is gone.

export class Refused extends Error {}
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

// The picture: the counts, places, predicted and known classes and how sure, one array after the other.
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
