// Light or dark as the system prefers, until somebody says otherwise.

import { isDark } from "./colours.js";

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
