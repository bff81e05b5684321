/** What stands in the address behind the name of a view. Pure. */

/** As it was before it was encoded; what was never encoded stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
