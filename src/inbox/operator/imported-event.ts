import { LONGEST_WAIT_MS } from '../../errors.ts';
import { entityOf, namedEntity, type EntityOf } from '../../events/entity.ts';
import { parseInstant, type Instant } from '../../events/instant.ts';
import { jsonText, unquoted } from '../../events/json.ts';
import { readEvent } from '../../events/parse.ts';
import { tokensAt } from './finding/bodies.ts';
import type { ExportedEvent } from './transfer.ts';

export interface ImportRules {
  /** takes the signature, the entity and marks from the line, because the body has none of them */
  readonly trusted: boolean;
  /** the rule that names entities, if the line is not trusted */
  readonly entity?: EntityOf | undefined;
  readonly now: number;
}

type ImportedEvent =
  | { readonly event: ExportedEvent; readonly raisesMark: boolean; readonly trusted: boolean }
  | { readonly fault: string };

/** A line of an untrusted file must not delay an event for longer. */
const LONGEST_UNTRUSTED_WAIT_MS = 24 * 60 * 60_000;

/** The body decides the id, type, time, entity and validity, because anyone may have written the line. */
export function importedEvent(line: ExportedEvent, rules: ImportRules): ImportedEvent {
  const fault =
    otherId(line.id, line.body, 'body') ?? otherId(line.id, line.conflict?.body ?? null, 'conflicting body');
  if (fault !== null) return { fault };
  const content = line.body === null ? {} : contentOf(line, line.body, rules);
  if (content === null) return { fault: 'its body is invalid, although its state is that of a valid event' };
  const event = inTime({ ...line, ...content, verified: rules.trusted && line.verified }, rules);
  const raisesMark = event.state === 'processed' && (rules.trusted || event.body !== null);
  return { event, raisesMark, trusted: rules.trusted };
}

/** An erased body has no bytes. */
function otherId(id: string, body: Uint8Array | null, name: string): string | null {
  if (body === null || body.byteLength === 0) return null;
  const { parsed } = readEvent(body);
  const own = parsed.ok ? parsed.event.id : parsed.id;
  if (own === null) return `its ${name} is not valid JSON with an id`;
  return own === id ? null : `its ${name} contains a different id`;
}

/** `null` if the line contradicts the body. */
function contentOf(
  line: ExportedEvent,
  body: Uint8Array,
  { trusted, entity = entityOf, now }: ImportRules,
): Partial<ExportedEvent> | null {
  const { parsed, facts } = readEvent(body);
  const type = facts?.type ?? null;
  const about = parsed.ok ? namedEntity(entity, parsed.event) : null;
  if (line.deadReason === 'invalid') {
    // A rerun checks whether it is valid now.
    const created = line.created === null ? null : createdIn(body);
    return { type, created, entity: trusted || line.entity === null ? line.entity : about };
  }
  if (parsed.ok) return { type, created: facts?.created ?? null, entity: trusted ? line.entity : about };
  if (line.state === 'pending' || line.state === 'processing') {
    // A current receiver would store it like this.
    return { type, created: null, entity: null, state: 'dead', deadReason: 'invalid', settledMs: now };
  }
  const created = createdIn(body);
  return type === null || created === null ? null : { type, created, entity: trusted ? line.entity : null };
}

function createdIn(body: Uint8Array): Instant | null {
  const [token = null] = tokensAt(jsonText(body) ?? '', [['created']]);
  return token?.startsWith('"') === true ? parseInstant(unquoted(token)) : null;
}

/** No time is in the future, and no event waits for ever. An event that was being handled becomes due. */
export function inTime(event: ExportedEvent, { now, trusted }: Pick<ImportRules, 'now' | 'trusted'>): ExportedEvent {
  const past = (ms: number): number => Math.min(ms, now);
  const pastOrNone = (ms: number | null): number | null => (ms === null ? null : past(ms));
  const interrupted = event.state === 'processing';
  const { redeliveries, conflict, steps = [] } = event;
  const pastOf = <T extends NonNullable<ExportedEvent['redeliveries']>>(times: T | null): T | null =>
    times && {
      ...times,
      firstMs: past(times.firstMs),
      lastMs: past(times.lastMs),
      recentMs: times.recentMs.map(past),
    };
  return {
    ...event,
    state: interrupted ? 'pending' : event.state,
    dueMs: Math.min(event.dueMs, interrupted ? now : now + (trusted ? LONGEST_WAIT_MS : LONGEST_UNTRUSTED_WAIT_MS)),
    receivedMs: past(event.receivedMs),
    settledMs: pastOrNone(event.settledMs),
    erasedMs: pastOrNone(event.erasedMs),
    attempts: event.attempts.map((attempt) => ({
      ...attempt,
      startedMs: past(attempt.startedMs),
      endedMs: past(attempt.endedMs),
    })),
    redeliveries: pastOf(redeliveries),
    conflict: pastOf(conflict),
    // A step of an untrusted file must not replace the work of a handler.
    steps: trusted ? steps.map((step) => ({ ...step, atMs: past(step.atMs) })) : [],
  };
}
