import type { Exchange } from './exchange.ts';

/** Whether an answer of hookbox says that it knew the event; `null` for the answer of any other endpoint. */
export function duplicateIn(answer: Exchange, id: string): boolean | null {
  if (answer.status !== 200) return null;
  let value: unknown;
  try {
    value = JSON.parse(answer.body);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || !('received' in value && 'duplicate' in value && 'id' in value)) {
    return null;
  }
  const { received, duplicate } = value;
  return received === true && typeof duplicate === 'boolean' && value.id === id ? duplicate : null;
}
