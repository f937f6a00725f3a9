// Forms that change the graph: other edges or features of a node, and a new node. Nothing is stored.

import { post } from "./api.js";
import { count, el, fold, percent, swatch } from "./dom.js";
import { changedNumber, newNumber } from "./numbers.js";
import { chancesTable, featuresTable, neighbourhood, neighboursTable, similarTable } from "./parts.js";
import { featurePicker, nodePicker, numberOrText } from "./picker.js";

export function whatIf(node, context) {
  const { model, numberOf, attempt } = context;
  const head = el("summary", {}, "What if its edges or features were different?");
  if (model.no_change) return el("details", {}, head, el("p", { class: "muted" }, model.no_change));
  const kept = node.neighbours.map((one) => ({ name: one.name, box: el("input", { type: "checkbox", checked: true }), one }));
  const added = nodePicker("Add an edge to", numberOf, context.lost);
  const values = node.features.map((one) => ({ ...one, input: el("input", { type: "number", step: "any", value: String(Number(one.value.toPrecision(6))), "aria-label": `Value of ${one.name}` }) }));
  const more = featurePicker("Set another feature", context.lost);
  const answer = el("div", { "aria-live": "polite" });

  const ask = async (event) => {
    event.preventDefault();
    const features = more.values();
    for (const one of values) if (one.input.value !== one.input.defaultValue) features[one.name] = numberOrText(one.input.value);
    const remove = kept.filter((one) => !one.box.checked).map((one) => one.name);
    await attempt(answer, async () => {
      const found = await post("what-if", { name: node.name, add: added.names(), remove, features });
      if (model.task === "numbers") return changedNumber(found, model);
      const said = found.was === found.becomes ? [`The class would still be `, el("b", {}, found.becomes), "."] : ["The class would be ", el("b", {}, found.becomes), ` instead of ${found.was}.`];
      return el("div", { class: "answer" }, el("p", {}, said), chancesTable(found.after, numberOf, 5, found.before), found.notes.map((note) => el("p", { class: "muted" }, note)));
    });
  };
  const shownOf = (shown, all) => (shown < all ? ` (the first ${count(shown)} of ${count(all)})` : "");
  return el("details", {}, head,
    el("form", { onsubmit: ask },
      el("fieldset", {}, el("legend", {}, `Edges: untick to remove${shownOf(kept.length, node.degree)}`),
        kept.length ? el("div", { class: "ticks", tabindex: "0", role: "group", "aria-label": "Its edges" }, kept.map(({ box, one }) => el("label", {}, box, swatch(numberOf(one.known_class ?? one.predicted_class)), one.name, el("small", {}, one.known_class ?? "")))) : el("p", { class: "muted" }, "It has none."),
        added.field),
      el("fieldset", {}, el("legend", {}, `Nonzero features${shownOf(values.length, node.feature_count)}`),
        values.length ? el("div", { class: "ticks", tabindex: "0", role: "group", "aria-label": "Its features" }, values.map((one) => el("label", {}, one.name, one.input, one.unit ? el("small", {}, one.unit) : ""))) : "",
        more.field),
      el("div", { class: "buttons" }, el("button", { class: "main", type: "submit" }, "Predict"), el("span", { class: "muted" }, "Nothing is stored."))),
    answer);
}

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
      return model.task === "numbers" ? newNumber(found, model, numberOf) : classified(found, model, numberOf);
    });
  };
  return [
    el("div", {}, el("p", { class: "kicker" }, "Not in the graph"), el("h2", {}, "New node")),
    el("p", { class: "muted" }, `Enter features and neighbours to predict ${model.task === "numbers" ? `the ${model.target}` : "a class"}. Nothing is stored or trained.`),
    el("form", { onsubmit: ask },
      el("label", { class: "field" }, "Name", name),
      el("fieldset", {}, el("legend", {}, "Edges to"), edges.field),
      model.columns
        ? columns.map(({ column, input }) => el("label", { class: "field" }, `${column.name} (${column.kind})`, input))
        : el("fieldset", {}, el("legend", {}, "Features; all others are 0"), features.field),
      el("div", { class: "buttons" }, el("button", { class: "main", type: "submit" }, model.task === "numbers" ? "Predict" : "Classify"))),
    answer,
  ];
}

function columnField(column) {
  if (column.kind === "category") return el("select", {}, el("option", { value: "" }, "not known"), column.values.map((one) => el("option", { value: one }, one)));
  if (column.kind === "flag") return el("select", {}, el("option", { value: "" }, "not known"), el("option", { value: "true" }, "yes"), el("option", { value: "false" }, "no"));
  if (column.kind === "text") return el("textarea", { rows: "2" });
  return el("input", { type: "text", placeholder: { date: "2024-05-31", vector: "0.1, 0.2, …" }[column.kind] });
}

// Numbers are sent as typed: the server reads them as it read the tables.
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
    why ? el("section", {}, el("h3", {}, "Why"), neighbourhood(why, centre, numberOf), neighboursTable(why.neighbours, numberOf, why.class_bias ? [["constant", why.class_bias]] : []), fold("By feature", featuresTable(why.features, why.class_bias ? [["constant", why.class_bias]] : []))) : el("p", { class: "muted" }, model.no_explanation),
    el("section", {}, el("h3", {}, "Most similar nodes"), similarTable(found.similar, numberOf, null)));
}
