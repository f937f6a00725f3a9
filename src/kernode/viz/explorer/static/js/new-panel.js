// A node that is not in the graph: what it has and whom it joins, and its class at once.

import { post } from "./api.js";
import { el } from "./dom.js";
import { neighbourhood } from "./neighbourhood.js";
import { chancesTable, featuresTable, neighboursTable, similarTable } from "./parts.js";
import { featurePicker, nodePicker, numberOrText } from "./picker.js";
import { fold } from "./node-panel.js";
import { percent } from "./words.js";

export function newPanel(_, context) {
  const { model, numberOf, attempt, map } = context;
  map.mark([]);
  document.title = `New node · ${model.graph} · kernode`;
  const name = el("input", { type: "text", value: "new node", maxlength: "1000", required: true });
  const edges = nodePicker("Add an edge to", numberOf, context.lost);
  const columns = (model.columns ?? []).map((column) => ({ column, input: columnField(column) }));
  const features = model.columns ? null : featurePicker("Add a feature", context.lost);
  const answer = el("div", { "aria-live": "polite" });
  const ask = async (event) => {
    event.preventDefault();
    const given = columns.filter(({ input }) => input.value.trim() !== "");
    const body = {
      name: name.value,
      edges: edges.names(),
      columns: Object.fromEntries(given.map(({ column, input }) => [column.name, valueOf(column, input.value)])),
      features: features ? features.values() : {},
    };
    await attempt(answer, async () => {
      const found = await post("new-node", body);
      map.mark([], found.similar.map((one) => one.index));
      return classified(found, model, numberOf);
    });
  };
  return [
    el("div", {}, el("p", { class: "kicker" }, "Not in the graph"), el("h2", {}, "New node")),
    el("p", { class: "muted" }, "Say what it has and whom it joins. Its class is computed from that; nothing is stored, and nothing is trained again."),
    el("form", { onsubmit: ask },
      el("label", { class: "field" }, "Name", name),
      el("fieldset", {}, el("legend", {}, "Edges to"), edges.field),
      model.columns
        ? columns.map(({ column, input }) => el("label", { class: "field" }, `${column.name} (${column.kind})`, input))
        : el("fieldset", {}, el("legend", {}, "Features; all others are 0"), features.field),
      el("div", { class: "buttons" }, el("button", { class: "main", type: "submit" }, "Classify"))),
    answer,
  ];
}

function columnField(column) {
  if (column.kind === "category") return el("select", {}, el("option", { value: "" }, "not known"), column.values.map((one) => el("option", { value: one }, one)));
  if (column.kind === "flag") return el("select", {}, el("option", { value: "" }, "not known"), el("option", { value: "true" }, "yes"), el("option", { value: "false" }, "no"));
  if (column.kind === "text") return el("textarea", { rows: "2" });
  return el("input", { type: "text", placeholder: { date: "2024-05-31", vector: "0.1, 0.2, …" }[column.kind] });
}

// Numbers go as people write them: the server reads them as it read the first table.
function valueOf(column, text) {
  if (column.kind === "vector") {
    const values = text.split(",").map(numberOrText);
    return values.every((one) => typeof one === "number") ? values : text;
  }
  if (column.kind === "flag") return text === "true";
  return column.kind === "number" ? numberOrText(text) : text;
}

function classified(found, model, numberOf) {
  const why = found.explanation;
  const centre = { name: found.name, index: model.nodes, class: found.class };
  return el("div", { class: "panel-answer" },
    el("div", { class: "answer" },
      el("p", { id: "new-class" }, el("b", {}, found.class), ` ${percent(found.chances[0].chance)}`),
      chancesTable(found.chances, numberOf, 5),
      found.notes.map((note) => el("p", { class: "muted" }, note))),
    why ? el("section", {}, el("h3", {}, "Why"), neighbourhood(why, centre, numberOf), neighboursTable(why.neighbours, numberOf, why.class_bias ? [["what every node has", why.class_bias]] : []), fold("By feature", featuresTable(why.features, why.class_bias ? [["what every node has", why.class_bias]] : []))) : el("p", { class: "muted" }, model.no_explanation),
    el("section", {}, el("h3", {}, "Most similar nodes"), similarTable(found.similar, numberOf, null)));
}
