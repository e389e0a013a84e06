import { utf8Text } from '../events/json.ts';

/** What an event calls itself; `null` where its body does not say. */
export interface EventLabel {
  readonly id: string | null;
  readonly type: string | null;
}

/** The id and the type in any body, whatever it is. */
export function labelOf(body: Uint8Array): EventLabel {
  let event: unknown;
  try {
    event = JSON.parse(utf8Text(body) ?? '');
  } catch {
    return { id: null, type: null };
  }
  const { id, type } = (event ?? {}) as { readonly id?: unknown; readonly type?: unknown };
  return { id: typeof id === 'string' ? id : null, type: typeof type === 'string' ? type : null };
}
