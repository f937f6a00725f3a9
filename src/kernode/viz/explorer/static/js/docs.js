// The API's description, drawn from openapi.json, with a form to try each address.

import { el, theme } from "./dom.js";

const page = document.getElementById("addresses");
theme(document.getElementById("theme"), () => {});

function limits(schema) {
  const said = { minimum: "at least #", maximum: "at most #", maxLength: "at most # characters" };
  return Object.entries(said).filter(([key]) => key in schema).map(([key, words]) => words.replace("#", schema[key])).join(", ").replace(/^a/, "A");
}

function field(one) {
  const name = `${one.name}${one.required ? "" : " (optional)"}`;
  const input = el("input", { name: one.name, required: one.required, placeholder: one.schema.default ?? "" });
  return el("label", {}, name, input, el("small", {}, [one.description, limits(one.schema)].filter(Boolean).join(" ")));
}

function exampleOf(schema) {
  return Object.fromEntries(Object.entries(schema.properties).map(([name, one]) => [name, one.default ?? ""]));
}

function article(path, method, about, schemas) {
  const body = about.requestBody?.content["application/json"].schema.$ref?.split("/").pop();
  const shape = body && schemas[body];
  const out = el("pre", { hidden: true, tabindex: "0", "aria-live": "polite" });
  const text = shape && el("textarea", { name: "body", rows: "7", spellcheck: "false" });
  if (text) text.value = JSON.stringify(exampleOf(shape), null, 2);
  const ask = async (event) => {
    event.preventDefault();
    const fields = [...new FormData(event.target)].filter(([name, value]) => name !== "body" && value !== "");
    const query = new URLSearchParams(fields).toString();
    const options = text ? { method: "POST", headers: { "content-type": "application/json" }, body: text.value } : {};
    out.hidden = false;
    try {
      const reply = await fetch(`.${path}${query ? `?${query}` : ""}`, options);
      const kind = reply.headers.get("content-type") ?? "";
      const said = kind.includes("octet-stream") ? `${(await reply.arrayBuffer()).byteLength} bytes` : await reply.text();
      out.textContent = `${reply.status}\n${kind.includes("json") ? JSON.stringify(JSON.parse(said), null, 1).slice(0, 20000) : said}`;
    } catch {
      out.textContent = "The server does not answer.";
    }
  };
  const described = shape && Object.entries(shape.properties).filter(([, one]) => one.description).map(([name, one]) => `${name}: ${one.description}`).join("\n");
  return el("article", {},
    el("h2", {}, el("small", {}, method.toUpperCase()), el("code", {}, path)),
    el("p", {}, about.description ?? about.summary),
    described ? el("p", { class: "muted" }, described) : "",
    el("form", { onsubmit: ask }, (about.parameters ?? []).map(field), text ? el("label", { class: "wide" }, "body", text) : "", el("button", { type: "submit" }, "Try")),
    out);
}

try {
  const described = await (await fetch("openapi.json")).json();
  page.replaceChildren(
    el("p", {}, described.info.description),
    ...Object.entries(described.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => article(path, method, about, described.components?.schemas ?? {}))),
  );
} catch {
  page.replaceChildren(el("p", {}, "The server does not answer."));
}
