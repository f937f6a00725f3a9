// Nodes and features that are chosen one after the other, each with a button that takes it back.

import { get } from "./api.js";
import { swatch } from "./colours.js";
import { combobox } from "./combobox.js";
import { el } from "./dom.js";

export const findNodes = async (text) => (await get("nodes", { search: text, limit: 8 })).nodes;

export const nodeOption = (numberOf) => (node) => {
  const known = node.known_class ?? node.predicted_class;
  return [swatch(numberOf(known)), node.name, el("small", {}, known)];
};

export function nodePicker(label, numberOf, lost) {
  const chosen = new Map();
  const chips = el("ul", { class: "chips" });
  const { field, input } = combobox({
    label, placeholder: `${label} …`, find: findNodes, shown: nodeOption(numberOf), keep: true, lost,
    choose: (node) => {
      if (chosen.has(node.name)) return;
      const chip = el("li", {}, el("button", { type: "button", "aria-label": `Leave out ${node.name}`, onclick: () => {
        chosen.delete(node.name);
        chip.remove();
        input.focus();
      } }, `${node.name} ×`));
      chosen.set(node.name, chip);
      chips.append(chip);
    },
  });
  return { field: el("div", {}, chips, field), names: () => [...chosen.keys()] };
}

// What is no number goes as it is: the server refuses it in a sentence, where a 0 would be an answer to something else.
export const numberOrText = (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

export function featurePicker(label, lost) {
  const chosen = new Map();
  const chips = el("ul", { class: "chips" });
  const { field } = combobox({
    label, placeholder: `${label} …`, find: async (text) => (await get("features", { search: text, limit: 8 })).features,
    shown: ({ name, unit }) => [name, unit ? el("small", {}, unit) : ""], keep: true, lost,
    choose: ({ name, unit }) => {
      if (chosen.has(name)) return;
      const input = el("input", { type: "number", step: "any", value: "1", "aria-label": `Value of ${name}` });
      const chip = el("li", {}, name, input, unit ? el("small", {}, unit) : "", el("button", { type: "button", "aria-label": `Leave out ${name}`, onclick: () => {
        chosen.delete(name);
        chip.remove();
      } }, "×"));
      chosen.set(name, input);
      chips.append(chip);
      input.focus();
      input.select();
    },
  });
  const values = () => Object.fromEntries([...chosen].map(([name, input]) => [name, numberOrText(input.value)]));
  return { field: el("div", {}, chips, field), values };
}
