// What if a node's edges or features were others: a form of what it has, and the answer beside what it was.

import { post } from "./api.js";
import { swatch } from "./colours.js";
import { el } from "./dom.js";
import { chancesTable } from "./parts.js";
import { featurePicker, nodePicker, numberOrText } from "./picker.js";
import { count } from "./words.js";

export function whatIf(node, context) {
  const { model, numberOf, attempt } = context;
  const head = el("summary", {}, "What if its edges or features were others?");
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
      const said = found.was === found.becomes ? [`It would still be `, el("b", {}, found.becomes), "."] : ["It would be ", el("b", {}, found.becomes), ` instead of ${found.was}.`];
      return el("div", { class: "answer" }, el("p", {}, said), chancesTable(found.after, numberOf, 5, found.before), found.notes.map((note) => el("p", { class: "muted" }, note)));
    });
  };
  const shownOf = (shown, all) => (shown < all ? ` (the first ${count(shown)} of ${count(all)})` : "");
  return el("details", {}, head,
    el("form", { onsubmit: ask },
      el("fieldset", {}, el("legend", {}, `Edges: untick to remove${shownOf(kept.length, node.degree)}`),
        kept.length ? el("div", { class: "ticks", tabindex: "0", role: "group", "aria-label": "Its edges" }, kept.map(({ box, one }) => el("label", {}, box, swatch(numberOf(one.known_class ?? one.predicted_class)), one.name, el("small", {}, one.known_class ?? "")))) : el("p", { class: "muted" }, "It has none."),
        added.field),
      el("fieldset", {}, el("legend", {}, `Features that are not 0${shownOf(values.length, node.feature_count)}`),
        values.length ? el("div", { class: "ticks", tabindex: "0", role: "group", "aria-label": "Its features" }, values.map((one) => el("label", {}, one.name, one.input, one.unit ? el("small", {}, one.unit) : ""))) : "",
        more.field),
      el("div", { class: "buttons" }, el("button", { class: "main", type: "submit" }, "See what follows"), el("span", { class: "muted" }, "Nothing is stored."))),
    answer);
}
