/** Light or dark: as the system has it, until somebody chooses. */

const KEY = "framehub.theme";

export type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "light" || chosen === "dark") return chosen;
  return system.matches ? "dark" : "light";
}

/** Set what is in force, now and whenever the system changes. */
export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme();
}

export function toggleTheme(): void {
  localStorage.setItem(KEY, theme() === "dark" ? "light" : "dark");
  applyTheme();
}

system.addEventListener("change", applyTheme);
