import { z } from 'zod';
import { isUsableId } from '../../events/parse.ts';
import { deadReasons, eventStates } from '../event.ts';
import { ERROR_CHARACTERS, LOG_LIMITS } from '../rules/attempt.ts';
import { isStepName, isStepResult } from '../rules/steps.ts';
import { LONGEST_OF_LANE } from '../rules/pauses.ts';
import type { EventFilter } from './search.ts';

/** The numbers of events in an import, by result. */
export interface ImportCounts {
  readonly imported: number;
  /** Events that were already in the inbox with the same body; they did not change. */
  readonly known: number;
  /** Events that were already in the inbox with a different body; they did not change. */
  readonly different: number;
}

/** A mark is the newest processed event of an entity. */
export type ImportRecord =
  | { readonly event: ExportedEvent; readonly raisesMark: boolean; readonly trusted: boolean }
  | { readonly mark: ExportedMark };

/** Some lines of an export, without line endings, and the numbers of events and marks in them. */
export interface ExportPage {
  readonly lines: readonly string[];
  readonly events: number;
  readonly marks: number;
}

export interface ExportPages {
  /** `null` after the last page. */
  next(): Promise<ExportPage | null>;
  /** Call it when you read no further. */
  end(): Promise<void>;
}

export interface Transfer {
  /**
   * The lines between the first and the last one, a few at a time, oldest events first, without later events. Marks
   * follow the events in an export without a filter; otherwise an import derives them.
   */
  exportPages(filter: EventFilter): ExportPages;
  /**
   * In one transaction, in the given order.
   *
   * @param options - the audit line whose counts grow; a dry run only checks which events exist
   */
  importSome(
    records: readonly ImportRecord[],
    options?: { readonly audit?: number; readonly dryRun?: boolean },
  ): Promise<ImportCounts>;
  /** Returns the maximum size, in bytes, that a copy of the live file can have. */
  bytes(): Promise<number>;
  /** Copies the live file to a path that must not exist yet. Returns the size of the copy in bytes. */
  backup(file: string): Promise<number>;
}

/** An export has a first line, pauses, events in order of arrival, marks, and a last line. */
const VERSION = 1;

/** A body, a conflicting body and all errors fit several times. */
export const LONGEST_LINE = 256 * 1024 * 1024;

/** Excludes facts that only matter in the inbox of the export. */
export type ExportedEvent = z.output<typeof eventSchema>;
export type ExportedMark = z.output<typeof markSchema>;
export type ExportedPause = z.output<typeof pauseSchema>;
export type ExportTotals = z.output<typeof totalsSchema>;

/** A fault never quotes the line, because it may contain a body. */
type ExportLine =
  | { readonly first: true }
  | { readonly event: ExportedEvent }
  | { readonly mark: ExportedMark }
  | { readonly pause: ExportedPause }
  | { readonly end: ExportTotals }
  | { readonly fault: string };

export const FIRST_LINE = JSON.stringify({ hookbox: 'export', version: VERSION });

export function lastLine(totals: ExportTotals): string {
  return JSON.stringify({ end: totals });
}

export function pauseLine({ endpoint, type, reason }: ExportedPause): string {
  return JSON.stringify({ pause: { endpoint, type, reason } });
}

export function markLine(mark: ExportedMark): string {
  return JSON.stringify({ mark });
}

export function eventLine(event: ExportedEvent): string {
  const { body, sha256, conflict, ...rest } = event;
  return JSON.stringify({
    event: {
      ...rest,
      body: body === null ? null : base64(body),
      sha256: sha256 === null ? null : Buffer.from(sha256).toString('hex'),
      conflict: conflict === null ? null : { ...conflict, body: base64(conflict.body) },
    },
  });
}

export function readExportLine(text: string): ExportLine {
  if (text.length > LONGEST_LINE) return { fault: 'it is too long to come from a hookbox export' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: 'it is not JSON' };
  }
  if (typeof value !== 'object' || value === null) return { fault: NO_LINE };
  if ('hookbox' in value) return first(value);
  const schema = Object.entries(lineSchemas).find(([kind]) => kind in value)?.[1];
  if (schema === undefined) return { fault: NO_LINE };
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  // Only names of the schema appear in a path.
  const path = result.error.issues[0]?.path.join('.');
  return { fault: `its ${path === '' ? 'fields' : path} must not have this value` };
}

const NO_LINE = 'it is not a line of an exact hookbox export; exports as csv or json cannot be imported';

function first(value: object): ExportLine {
  if ('version' in value && typeof value.version === 'number' && value.version > VERSION) {
    return { fault: `the export has version ${value.version}, but this hookbox reads only versions up to ${VERSION}` };
  }
  return firstLineSchema.safeParse(value).success ? { first: true } : { fault: NO_LINE };
}

/** Sums stay exact. */
const whole = z.int().min(0).max(1_000_000_000);
/** The years 1970 to 9999. */
const ms = z.int().min(0).max(253_402_300_799_999);
/** Names from a body may be long. */
const text = z.string().max(4 * 1024 * 1024);
const name = (longest: number) => z.string().min(1).max(longest);
const endpoint = name(1_000);
/** The years 0 to 9999 in any zone. */
const instant = z.strictObject({
  ms: z.int().min(-62_167_305_600_000).max(253_402_387_199_999),
  ns: z.int().min(0).max(999_999),
});
const errorText = (characters: number) => z.string().max(characters + 1);
const bytes = z
  .string()
  .refine((written) => base64(Buffer.from(written, 'base64')) === written)
  .transform((written): Uint8Array => Buffer.from(written, 'base64'));
const hash = z
  .string()
  .regex(/^([0-9a-f]{64})?$/)
  .transform((written): Uint8Array => Buffer.from(written, 'hex'));
const occurrences = {
  count: whole.min(1),
  firstMs: ms,
  lastMs: ms,
  recentMs: z.array(ms).min(1).max(20),
};
const trigger = z.enum(['auto', 'manual']);

const attemptSchema = z.strictObject({
  number: whole.min(1),
  trigger,
  outcome: z.enum(['processed', 'failed', 'crashed', 'interrupted', 'superseded']),
  startedMs: ms,
  endedMs: ms,
  error: z
    .strictObject({
      name: errorText(ERROR_CHARACTERS.name),
      message: errorText(ERROR_CHARACTERS.message).nullable(),
      stack: errorText(ERROR_CHARACTERS.stack).nullable(),
    })
    .nullable(),
  skipped: errorText(ERROR_CHARACTERS.skipped).optional(),
  log: z
    .array(z.strictObject({ afterMs: whole, level: z.enum(['info', 'warn', 'error']), text: z.string() }))
    .max(LOG_LIMITS.lines)
    .refine((log) => Buffer.byteLength(JSON.stringify(log)) <= LOG_LIMITS.bytes)
    .readonly()
    .optional(),
  limit: whole.min(1).optional(),
  processor: name(100).optional(),
});

const eventSchema = z
  .strictObject({
    endpoint,
    id: z.string().refine(isUsableId),
    type: text.nullable(),
    created: instant.nullable(),
    entity: text.nullable(),
    verified: z.boolean(),
    state: z.enum(eventStates),
    deadReason: z.enum(deadReasons).nullable(),
    receivedMs: ms,
    settledMs: ms.nullable(),
    dueMs: ms,
    begun: whole,
    failures: whole,
    crashes: whole,
    trigger,
    fingerprint: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .nullable(),
    erasedMs: ms.nullable(),
    body: bytes.nullable(),
    /** the hash of a tombstone's body; empty if the body is unknown */
    sha256: hash.nullable(),
    attempts: z.array(attemptSchema).max(100_000),
    redeliveries: z.strictObject(occurrences).nullable(),
    conflict: z.strictObject({ ...occurrences, body: bytes }).nullable(),
    steps: z
      .array(
        z.strictObject({
          name: z.string().refine(isStepName),
          attempt: whole.min(1),
          atMs: ms,
          result: z.string().refine(isStepResult).nullable(),
        }),
      )
      .max(100_000)
      .readonly()
      .optional(),
    /** W3C headers have 55 characters, a space, and a state of up to 512 */
    trace: z.string().max(600).optional(),
    /** it is pending, has failed, and lets newer events of its entity pass */
    yields: z.literal(true).optional(),
  })
  // The CHECKs of the tables, and more, because an error must have the number of its line.
  .superRefine((event, context) => {
    const settled = event.state !== 'pending' && event.state !== 'processing';
    const isUnknown = event.sha256?.byteLength === 0 && event.state === 'processed';
    const numbers = event.attempts.map(({ number }) => number);
    const sound: Readonly<Record<string, boolean>> = {
      deadReason: (event.state === 'dead') === (event.deadReason !== null),
      settledMs: settled === (event.settledMs !== null),
      type: event.type !== null || event.deadReason === 'invalid' || isUnknown,
      created: event.created !== null || event.deadReason === 'invalid' || isUnknown,
      body: event.body === null ? settled : event.erasedMs === null,
      sha256: (event.body === null) === (event.sha256 !== null) && (event.sha256?.byteLength !== 0 || isUnknown),
      entity: event.entity === null || event.erasedMs === null,
      conflict: isCounted(event.conflict) && (event.erasedMs === null || (event.conflict?.body.byteLength ?? 0) === 0),
      begun: event.begun >= Math.max(numbers.at(-1) ?? 0, event.failures + event.crashes),
      // A crash has no error.
      fingerprint: event.fingerprint === null || event.deadReason === 'failed' || event.deadReason === 'invalid',
      steps:
        event.steps === undefined ||
        (event.body !== null && new Set(event.steps.map(({ name }) => name)).size === event.steps.length),
      redeliveries: isCounted(event.redeliveries),
      attempts:
        numbers.every((number, at) => number > (numbers[at - 1] ?? 0)) &&
        event.attempts.every(({ outcome, error }) => outcome !== 'failed' || error !== null),
    };
    for (const [name, isSound] of Object.entries(sound)) {
      if (!isSound) context.addIssue({ code: 'custom', path: [name], message: '' });
    }
  });

function isCounted(times: { readonly count: number; readonly recentMs: readonly number[] } | null): boolean {
  return times === null || times.count >= times.recentMs.length;
}

const markSchema = z.strictObject({ entity: text, endpoint, created: instant });
const pauseSchema = z.strictObject({
  endpoint: name(LONGEST_OF_LANE.endpoint),
  type: name(LONGEST_OF_LANE.type),
  reason: text.nullable(),
});
const totalsSchema = z.strictObject({ events: whole, marks: whole });

const firstLineSchema = z.strictObject({ hookbox: z.literal('export'), version: z.literal(VERSION) });
const lineSchemas: Readonly<Record<string, z.ZodType<ExportLine>>> = {
  event: z.strictObject({ event: eventSchema }),
  mark: z.strictObject({ mark: markSchema }),
  pause: z.strictObject({ pause: pauseSchema }),
  end: z.strictObject({ end: totalsSchema }),
};

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
