import { existsSync, readdirSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import { eventTypes } from '../../events/event-types.ts';
import { parseDuration } from '../../ops/words/read-time.ts';
import { oneLine } from '../../printable.ts';
import { type FaultKind, FAULT_KINDS, FORGERIES, type Forgery } from '../../sender/faults.ts';
import { fixturesFolder } from '../../testing/fixtures.ts';
import { CommandError, EXIT, usageError, print, printJson } from '../shared/output.ts';
import { readInput } from '../shared/files.ts';

const duration = z
  .string()
  .refine((text) => parseDuration(text) !== null, { error: 'expected a time such as "0", "90s", "5m" or "1h 30m"' })
  .transform((text) => parseDuration(text) ?? 0);
const count = z.int().min(0);
const atLeastOne = z.int().min(1);
const share = z.number().min(0).max(1);

const faultKind = z.enum(FAULT_KINDS as [FaultKind, ...FaultKind[]]);
const fault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('late'), by: duration }).transform(({ kind, by }) => ({ kind, ms: by })),
  z
    .strictObject({ kind: z.literal('burst'), every: duration.refine((ms) => ms > 0, 'expected a number above 0') })
    .transform(({ kind, every }) => ({ kind, everyMs: every })),
  z.strictObject({ kind: z.literal('duplicate'), copies: atLeastOne }),
  z.strictObject({ kind: z.literal('tampered-body'), where: share }),
  z.strictObject({ kind: z.literal('tampered-signature'), where: share }),
  z.strictObject({ kind: z.literal('cut'), where: share }),
  z.strictObject({ kind: z.literal('slow-body'), over: duration }).transform(({ kind, over }) => ({ kind, ms: over })),
  z.strictObject({ kind: z.literal('lost-answer') }),
]);

const attemptFaults = z
  .union([z.null(), faultKind, fault, z.array(z.union([faultKind, fault]))], {
    error: `expected null, one of ${FAULT_KINDS.join(', ')}, a fault with its settings, or a list of these`,
  })
  .describe('the faults of one attempt; null for none');

const source = {
  type: z.enum(eventTypes).optional().describe('a new event of this type, based on its fixture'),
  data: z.record(z.string(), z.unknown()).optional().describe('fields that replace those in the data of the event'),
  fixture: z.string().optional().describe('the exact bytes of a fixture, such as edge/unknown-type'),
  body: z.string().optional().describe('the exact text of the body'),
  again: z.string().optional().describe('repeat the events of the earlier delivery with this name'),
};
const SOURCES = ['type', 'fixture', 'body', 'again'] as const;

const delivery = z
  .strictObject({
    ...source,
    name: z
      .string()
      .min(1)
      .optional()
      .describe('a name, so that a later delivery can repeat these events with "again"'),
    at: duration.default(0).describe('when the first event is due, measured from the start of the scenario'),
    count: atLeastOne.default(1).describe('the number of events'),
    every: duration.default(0).describe('the time between two events'),
    times: atLeastOne.default(1).describe('how many copies of each event to send simultaneously'),
    created: duration
      .optional()
      .describe(
        'the time at which the event is created, measured from the start of the scenario (default: when the event is due)',
      ),
    subject: z
      .string()
      .optional()
      .describe(
        'a name for a set of orders, carts or products: the n-th event of each delivery with this name is about the n-th member of the set',
      ),
    faults: z.array(attemptFaults).default([]).describe('the faults of the first attempt, the second, and so on'),
    forged: z
      .enum(FORGERIES as [Forgery, ...Forgery[]])
      .optional()
      .describe('send the event once, as a forgery of this kind'),
    expect: z
      .strictObject({
        outcome: z.enum(['delivered', 'dead-lettered']).optional(),
        statuses: z
          .array(z.union([z.int().min(100).max(599), z.null()]))
          .optional()
          .describe('the status of each attempt; null for no response'),
        copies: z
          .array(z.union([z.int().min(100).max(599), z.null()]))
          .optional()
          .describe('the allowed responses to each copy of a duplicate (default: one of "statuses")'),
      })
      .default({}),
  })
  .superRefine((given, context) => {
    const sources = SOURCES.filter((key) => given[key] !== undefined);
    const complain = (message: string): void => context.addIssue({ code: 'custom', message });
    if (sources.length !== 1) complain(`expected one of ${SOURCES.join(', ')}, got ${sources.join(' and ') || 'none'}`);
    for (const key of ['data', 'created', 'subject'] as const) {
      if (given[key] !== undefined && given.type === undefined) complain(`"${key}" needs "type"`);
    }
    if (given.count > 1 && given.type === undefined)
      complain('"count" needs "type"; to repeat the same bytes, use "times"');
    if (given.forged !== undefined && given.faults.length > 0) complain('a forged delivery cannot have faults');
  });

const down = z.strictObject({
  from: duration.describe('when the outage begins, measured from the start of the scenario'),
  for: duration.refine((ms) => ms > 0, 'expected a number above 0'),
});

function areApart(windows: readonly z.output<typeof down>[]): boolean {
  return windows.every(({ from }, index) => {
    const before = windows[index - 1];
    return before === undefined || from > before.from + before.for;
  });
}

const behaviour = z.strictObject({
  failsFirst: count.default(0).describe('for each event, how many runs fail before one succeeds'),
  fails: z.literal('always').optional().describe('every run fails, so the event becomes dead'),
  takes: duration.default(0).describe('how long a run takes, in real time'),
});

const once = z.union([z.literal('once'), count], { error: 'expected "once" or a whole number' });

const scenarioSchema = z.strictObject({
  $schema: z.string().optional(),
  about: z.string().min(1).describe('what happens, in one or two sentences'),
  startAt: z.iso.datetime().default('2026-01-01T00:00:00Z').describe('the time at which the scenario starts'),
  sender: z
    .strictObject({
      timeout: duration.default(10_000).describe('how long a response may take, in real time'),
      concurrency: atLeastOne.max(1_000).default(16).describe('the number of concurrent requests'),
    })
    .prefault({}),
  receiver: z
    .strictObject({
      handlers: z
        .partialRecord(z.enum([...eventTypes, '*']), behaviour)
        .default({})
        .describe('how handlers behave (default: they succeed)'),
      keepsUp: z.boolean().default(false).describe('advance the clock only after all stored events are handled'),
    })
    .prefault({})
    .describe('the built-in receiver, for a run without --to'),
  down: z
    .array(down)
    .refine(areApart, 'expected periods in ascending order, with a gap between them')
    .default([])
    .describe('when the receiver is down'),
  deliveries: z.array(delivery).min(1),
  randomFaults: z
    .strictObject({ count: atLeastOne, kinds: z.array(faultKind).min(1).optional() })
    .optional()
    .describe('faults for all events without their own faults'),
  retryDeadLetters: z.array(duration).default([]).describe('when an operator retries all dead letters'),
  expect: z
    .strictObject({
      stored: once
        .optional()
        .describe(
          'once: the inbox contains each event that the service sent, with its original bytes, and no other event',
        ),
      handled: once.optional().describe('once: every event had its effect exactly once'),
      redeliveries: count.optional().describe('the number of redeliveries to the inbox'),
      superseded: count.optional().describe('the number of handler runs in which ctx.superseded was true'),
      dead: count.optional().describe('the number of dead events'),
      deadLetters: count.optional().describe('the number of dead letters at the end'),
      faults: count.optional(),
      statuses: z
        .record(z.string().regex(/^([1-5]\d\d|none)$/, 'expected a status such as "200", or "none"'), count)
        .default({})
        .describe('the number of requests with each status; if set, no other status is expected'),
    })
    .prefault({}),
});

export type Scenario = z.output<typeof scenarioSchema>;
export type ScenarioDelivery = Scenario['deliveries'][number];
export type HandlerBehaviour = z.output<typeof behaviour>;
export type AttemptFaults = z.output<typeof attemptFaults>;

interface LoadedScenario {
  readonly name: string;
  readonly scenario: Scenario;
}

export function shippedScenarios(): readonly string[] {
  return readdirSync(shippedFolder())
    .filter((file) => file.endsWith('.json'))
    .map((file) => basename(file, '.json'))
    .toSorted();
}

/** @throws CommandError that names the file, the place in it and the allowed values */
export async function loadScenario(fileOrName: string): Promise<LoadedScenario> {
  const shipped = shippedScenarios();
  const isFile = fileOrName === '-' || fileOrName.includes(sep) || existsSync(fileOrName);
  if (!isFile && !shipped.includes(fileOrName)) {
    const message = `${fileOrName} is neither a file nor a built-in scenario. The scenarios are: ${shipped.join(', ')}.`;
    throw new CommandError(message, EXIT.notFound);
  }
  const path = isFile ? fileOrName : join(shippedFolder(), `${fileOrName}.json`);
  const name = path === '-' ? 'standard input' : basename(path, '.json');
  return { name, scenario: parsed(path, await readInput(path)) };
}

function parsed(path: string, bytes: Buffer): Scenario {
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString());
  } catch (failure) {
    throw usageError(`${path} is not JSON: ${oneLine(messageOf(failure))}`);
  }
  const result = scenarioSchema.safeParse(json);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path: place, message }) => {
    return `${place.length === 0 ? 'the file' : place.map(String).join('.')}: ${message}`;
  });
  throw usageError(`${path} is not a scenario. ${oneLine(issues.join('; '), 1_000)}`);
}

function shippedFolder(): string {
  return join(fixturesFolder(), 'scenarios');
}

export async function listScenarios({ json = false }: { readonly json?: boolean }): Promise<void> {
  const names = shippedScenarios();
  const all = [];
  for (const name of names) all.push({ name, about: (await loadScenario(name)).scenario.about });
  if (json) {
    printJson(all);
    return;
  }
  const width = Math.max(...names.map(({ length }) => length));
  for (const { name, about } of all) print(`${name.padEnd(width)}  ${about}`);
}

export async function printScenarioSchema(): Promise<void> {
  printJson(z.toJSONSchema(scenarioSchema, { io: 'input' }));
}
