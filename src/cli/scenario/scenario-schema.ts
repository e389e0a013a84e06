import { z } from 'zod';
import { eventTypes } from '../../events/event-types.ts';
import { FORGERIES, type Forgery } from '../../sender/forgeries.ts';
import type { FaultKind } from '../../sender/faults.ts';
import { FAULT_KINDS } from '../../sender/random-faults.ts';
import { parseDuration } from '../../ops/words/read-time.ts';

const duration = z
  .string()
  .refine((text) => parseDuration(text) !== null, { error: 'expected a time such as "0", "90s", "5m" or "1h 30m"' })
  .transform((text) => parseDuration(text) ?? 0);
const count = z.int().min(0);
const atLeastOne = z.int().min(1);
const share = z.number().min(0).max(1);

const faultKind = z.enum(FAULT_KINDS as [FaultKind, ...FaultKind[]]);
const fault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('late'), by: duration }),
  z.strictObject({ kind: z.literal('burst'), every: duration.refine((ms) => ms > 0, 'expected more than 0') }),
  z.strictObject({ kind: z.literal('duplicate'), copies: atLeastOne }),
  z.strictObject({ kind: z.literal('tampered-body'), where: share }),
  z.strictObject({ kind: z.literal('tampered-signature'), where: share }),
  z.strictObject({ kind: z.literal('cut'), where: share }),
  z.strictObject({ kind: z.literal('slow-body'), over: duration }),
  z.strictObject({ kind: z.literal('lost-answer') }),
]);

const attemptFaults = z
  .union([z.null(), faultKind, fault, z.array(z.union([faultKind, fault]))], {
    error: `expected null, one of ${FAULT_KINDS.join(', ')}, a fault with its figures, or a list of these`,
  })
  .describe('what goes wrong with one try; null for nothing');

const source = {
  type: z.enum(eventTypes).optional().describe('an event of this type, made from its fixture'),
  data: z.record(z.string(), z.unknown()).optional().describe('fields that replace those in its data'),
  fixture: z.string().optional().describe('the exact bytes of a fixture, such as edge/unknown-type'),
  body: z.string().optional().describe('these bytes'),
  again: z.string().optional().describe('the events of an earlier delivery once more, by its name'),
};
const SOURCES = ['type', 'fixture', 'body', 'again'] as const;

const delivery = z
  .strictObject({
    ...source,
    name: z.string().min(1).optional().describe('what "again" calls it'),
    at: duration.default(0).describe('when the first is due, from the start'),
    count: atLeastOne.default(1).describe('so many events'),
    every: duration.default(0).describe('from one to the next'),
    times: atLeastOne.default(1).describe('each of them so many times at once'),
    created: duration.optional().describe('when it says it was created, from the start; when it is due unless set'),
    subject: z.string().optional().describe('which order, cart or product; the n-th of each delivery unless set'),
    faults: z.array(attemptFaults).default([]).describe('the faults of the first try, the second, and so on'),
    forged: z
      .enum(FORGERIES as [Forgery, ...Forgery[]])
      .optional()
      .describe('sent once, by somebody who is not the service'),
    expect: z
      .strictObject({
        outcome: z.enum(['delivered', 'dead-lettered']).optional(),
        statuses: z
          .array(z.union([z.int().min(100).max(599), z.null()]))
          .optional()
          .describe('of each try; null for no answer'),
        copies: z
          .array(z.union([z.int().min(100).max(599), z.null()]))
          .optional()
          .describe('what each copy of a duplicate may be answered; one of "statuses" unless set'),
      })
      .default({}),
  })
  .superRefine((given, context) => {
    const sources = SOURCES.filter((key) => given[key] !== undefined);
    const complain = (message: string): void => context.addIssue({ code: 'custom', message });
    if (sources.length !== 1) complain(`expected one of ${SOURCES.join(', ')}, got ${sources.join(' and ') || 'none'}`);
    for (const key of ['data', 'created', 'subject'] as const) {
      if (given[key] !== undefined && given.type === undefined) complain(`"${key}" goes with "type"`);
    }
    if (given.count > 1 && given.type === undefined)
      complain('"count" goes with "type"; "times" repeats the same bytes');
    if (given.forged !== undefined && given.faults.length > 0) complain('what is forged has no faults');
  });

const down = z.strictObject({
  from: duration.describe('from the start'),
  for: duration.refine((ms) => ms > 0, 'expected more than 0'),
});

function areApart(windows: readonly z.output<typeof down>[]): boolean {
  return windows.every(({ from }, index) => {
    const before = windows[index - 1];
    return before === undefined || from > before.from + before.for;
  });
}

const behaviour = z.strictObject({
  failsFirst: count.default(0).describe('the first runs for each event that fail'),
  fails: z.literal('always').optional().describe('for good, so that the event is dead'),
  takes: duration.default(0).describe('in real time'),
});

const once = z.union([z.literal('once'), count], { error: 'expected "once" or a whole number' });

/** What a scenario file holds. */
export const scenarioSchema = z.strictObject({
  $schema: z.string().optional(),
  about: z.string().min(1).describe('what happens, in a sentence or two'),
  startAt: z.iso.datetime().default('2026-01-01T00:00:00Z').describe('the time of day at the start'),
  sender: z
    .strictObject({
      timeout: duration.default(10_000).describe('how long an answer may take, in real time'),
      concurrency: atLeastOne.max(1_000).default(16).describe('requests under way at a time'),
    })
    .prefault({}),
  receiver: z
    .strictObject({
      handlers: z
        .partialRecord(z.enum([...eventTypes, '*']), behaviour)
        .default({})
        .describe('how they behave; they succeed unless told otherwise'),
      keepsUp: z.boolean().default(false).describe('time moves on only when everything stored is handled'),
    })
    .prefault({})
    .describe('the receiver that is run unless there is another'),
  down: z
    .array(down)
    .refine(areApart, 'expected one after the other, with time between them')
    .default([])
    .describe('when the receiver is down'),
  deliveries: z.array(delivery).min(1),
  randomFaults: z
    .strictObject({ count: atLeastOne, kinds: z.array(faultKind).min(1).optional() })
    .optional()
    .describe('faults dealt to all events that have none of their own'),
  retryDeadLetters: z.array(duration).default([]).describe('when somebody retries all dead letters by hand'),
  expect: z
    .strictObject({
      stored: once.optional().describe('once: every event that the service has sent, with its bytes, and nothing else'),
      handled: once.optional().describe('once: every event that is stored had its effect exactly once'),
      redeliveries: count.optional().describe('how often the inbox was sent what it had'),
      superseded: count.optional().describe('handler runs that were told of a newer event'),
      dead: count.optional().describe('events that no handler will take'),
      deadLetters: count.optional().describe('left at the end'),
      faults: count.optional(),
      statuses: z
        .record(z.string().regex(/^([1-5]\d\d|none)$/, 'expected a status such as "200", or "none"'), count)
        .default({})
        .describe('how many requests were answered so; where this is said, no other answers are expected'),
    })
    .prefault({}),
});

/** A scenario file that was read, with what it leaves open filled in. */
export type Scenario = z.output<typeof scenarioSchema>;
/** One entry of its `deliveries`. */
export type ScenarioDelivery = Scenario['deliveries'][number];
/** How the handlers of one type behave. */
export type HandlerBehaviour = z.output<typeof behaviour>;
/** What goes wrong with one try, as the file says it. */
export type AttemptFaults = z.output<typeof attemptFaults>;
