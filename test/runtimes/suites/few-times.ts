/** Replaces `helpers/times.ts`: other runtimes repeat less. */
export const everything = false;

export function times(_: number, product: number): number {
  return Math.ceil(product / 4);
}
