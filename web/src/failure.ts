/** How a call failed, said once. Pure. */

/** Whether the text of an error (its code and its message) says all that its value does. */
export function isAllSaid(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "string";
  const { code = "", message, ...more } = value as Record<string, unknown>;
  return typeof message === "string" && ["string", "number"].includes(typeof code) && Object.keys(more).length === 0;
}
