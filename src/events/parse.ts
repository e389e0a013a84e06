import english from 'zod/v4/locales/en.js';
import type { ZodMiniType } from 'zod/mini';
import { findDuplicateKey, hasAllThatIsWritten, utf8Text } from './json.ts';
import { isEventType, type EventType } from './event-types.ts';
import { isInstant, parseInstant, type Instant } from './instant.ts';
import {
  eventSchemas,
  unknownEventSchema,
  type Issue,
  type UnknownEvent,
  type WebhookEvent,
  orderItem,
} from './webhook-event.ts';

/** zod/mini does not include messages. */
const IN_ENGLISH = { error: english().localeError };

/** The result of {@link parseEvent}. With `ok: false`, a body with an `id` is an invalid event; a body without one is not an event. */
export type ParsedEvent =
  | { readonly ok: true; readonly known: true; readonly event: WebhookEvent; readonly issues: readonly Issue[] }
  | { readonly ok: true; readonly known: false; readonly event: UnknownEvent; readonly issues: readonly Issue[] }
  | { readonly ok: false; readonly id: string | null; readonly issues: readonly Issue[] };

/** The type and time that hookbox could read from a body. */
export interface EventFacts {
  /** `null` if an invalid event has no readable type. */
  readonly type: string | null;
  /** `null` for an invalid event. */
  readonly created: Instant | null;
}

export type ReadEvent =
  | { readonly parsed: ParsedEvent & { readonly ok: true }; readonly facts: EventFacts & { created: Instant } }
  | { readonly parsed: ParsedEvent & { readonly ok: false; readonly id: string }; readonly facts: EventFacts }
  | { readonly parsed: ParsedEvent & { readonly ok: false; readonly id: null }; readonly facts: null };

const MAX_ID_CHARACTERS = 255;
const SHORT_LIST = 100;

/**
 * Parses the body of a delivery as an event (section 6.2 of the service's interface). Pass only verified bytes. The
 * function does not throw, whatever the body contains.
 *
 * @param body - the raw bytes
 * @returns the typed event, an event of an unknown type, or the reason why the body is neither
 * @example
 * ```ts
 * import { parseEvent } from 'hookbox';
 *
 * const body = new TextEncoder().encode('{"id":"evt_1","type":"order.ready","created":"2026-01-01T00:00:00Z","data":{}}');
 * const parsed = parseEvent(body);
 * if (parsed.ok && parsed.known && parsed.event.type === 'order.ready') console.log(parsed.event.data.total);
 * ```
 */
export function parseEvent(body: Uint8Array): ParsedEvent {
  return readEvent(body).parsed;
}

export function readEvent(body: Uint8Array): ReadEvent {
  const text = utf8Text(body);
  if (text === null) return refused('the body is not valid UTF-8');
  const value = parseJson(text);
  if (value === undefined) return refused('the body is not valid JSON');
  if (!isObject(value)) return refused('the body is not a JSON object');
  const id = value['id'];
  if (!isUsableId(id)) {
    return refused(`id must be a well-formed string of 1 to ${MAX_ID_CHARACTERS} characters`, 'id');
  }
  const type = typeof value['type'] === 'string' ? value['type'] : null;

  const twice = hasAllThatIsWritten(body, Object.keys(value).length) ? null : findDuplicateKey(text);
  if (twice !== null) {
    // Any other key is the sender's text.
    const path = Object.hasOwn(unknownEventSchema.shape, twice) ? twice : '';
    return invalid(id, type, [{ path, message: 'the envelope contains the same key twice' }]);
  }
  return check(value, id, type);
}

function check(value: Record<string, unknown>, id: string, type: string | null): ReadEvent {
  const known = type !== null && isEventType(type);
  const bad = firstBadItem(value);
  if (known && bad !== null) return invalid(id, type, [bad]);
  const failure = known ? mismatch(eventSchemas[type], value) : mismatch(unknownEventSchema, value);
  if (failure !== null) return invalid(id, type, failure);

  const event = value as WebhookEvent | UnknownEvent; // the schema has checked it
  const created = parseInstant(event.created);
  if (created === null) {
    return invalid(id, type, [{ path: 'created', message: 'created must be an ISO 8601 date-time' }]);
  }
  const facts = { type, created };
  return known
    ? {
        parsed: { ok: true, known, event: event as WebhookEvent, issues: oddities(event as WebhookEvent, type) },
        facts,
      }
    : { parsed: { ok: true, known, event, issues: [] }, facts };
}

/** Stops at the first issue: half a million issues would block the event loop for seconds. */
function firstBadItem({ data }: Record<string, unknown>): Issue | null {
  const items = isObject(data) ? data['items'] : null;
  if (!Array.isArray(items) || items.length <= SHORT_LIST) return null;
  for (const [at, item] of items.entries()) {
    const issue = orderItem.safeParse(item, IN_ENGLISH).error?.issues[0];
    if (issue !== undefined) return { path: ['data.items', at, ...issue.path].join('.'), message: issue.message };
  }
  return null;
}

/** Issues that do not keep an event from its handler. */
function oddities(event: WebhookEvent, type: EventType): readonly Issue[] {
  const issues: Issue[] = [];
  const { object } = event.data;
  if (object !== undefined && object !== null && !type.startsWith(`${object}.`)) {
    const family = type.slice(0, type.indexOf('.'));
    issues.push({ path: 'data.object', message: `should be "${family}" in an event of type ${type}` });
  }
  for (const field of ['estimated_ready_time', 'last_activity'] as const) {
    const time: unknown = (event.data as Record<string, unknown>)[field];
    if (typeof time === 'string' && !isInstant(time)) {
      issues.push({ path: `data.${field}`, message: 'should be an ISO 8601 date-time' });
    }
  }
  return issues;
}

function mismatch(schema: ZodMiniType, value: unknown): readonly Issue[] | null {
  const result = schema.safeParse(value, IN_ENGLISH);
  if (result.success) return null;
  return result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
}

function refused(message: string, path = ''): ReadEvent {
  return { parsed: { ok: false, id: null, issues: [{ path, message }] }, facts: null };
}

function invalid(id: string, type: string | null, issues: readonly Issue[]): ReadEvent {
  return { parsed: { ok: false, id, issues }, facts: { type, created: null } };
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // An escape may spell any letter of the key; escapes of ASCII begin with \u00.
  if (text.includes('__proto__') || text.includes('\\u00')) dropProtoKeys(value);
  return value;
}

/** A handler that copies the object key by key would set a prototype. The stored bytes keep the key. Iterative, because a body may be nested too deeply for the stack. */
function dropProtoKeys(value: unknown): void {
  const open: unknown[] = [value];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== 'object' || one === null) continue;
    if (Object.hasOwn(one, '__proto__')) Reflect.deleteProperty(one, '__proto__');
    for (const inner of Object.values(one)) if (typeof inner === 'object' && inner !== null) open.push(inner);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Different lone surrogates become the same bytes in SQLite. Characters are code points. */
export function isUsableId(id: unknown): id is string {
  if (typeof id !== 'string' || id === '' || id.length > 2 * MAX_ID_CHARACTERS || !id.isWellFormed()) return false;
  return id.length <= MAX_ID_CHARACTERS || [...id].length <= MAX_ID_CHARACTERS;
}
