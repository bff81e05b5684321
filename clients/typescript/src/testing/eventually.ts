/** Wait until something is so, however long a busy machine takes; the runner's time limit is the only one. */
export async function eventually(isSo: () => unknown): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}
