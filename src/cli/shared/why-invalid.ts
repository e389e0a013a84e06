import { parseEvent } from '../../events/parse.ts';
import type { Issue } from '../../events/webhook-event.ts';

/** What does not fit first in a body that hookbox would store as invalid; `null` for an event, and for what is none at all. */
export function whyInvalid(body: Uint8Array): Issue | null {
  const parsed = parseEvent(body);
  return parsed.ok || parsed.id === null ? null : (parsed.issues[0] ?? null);
}
