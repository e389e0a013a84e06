import { oneLine } from '../../printable.ts';
import type { DeliveryAttempt } from '../../sender/service.ts';
import type { EndedDelivery, ScenarioRun } from './run-scenario.ts';
import type { Scenario } from './scenario-file.ts';
import type { EventFinding, Findings } from './scenario-receivers.ts';

export interface Verdict {
  readonly expectation: string;
  /** `null` if it could not be checked */
  readonly met: boolean | null;
  /** the actual value, or why no value is known */
  readonly found: string;
}

export function verdictsOn({ expect }: Scenario, run: ScenarioRun): readonly Verdict[] {
  return [
    ...[...Map.groupBy(run.deliveries, ({ index }) => index).values()].flatMap(onDeliveries),
    ...onStatuses(expect.statuses, run.requests.map(statusOf)),
    ...Object.entries(COUNTS).flatMap(([key, row]) => {
      const expected = expect[key as keyof typeof COUNTS];
      return expected === undefined ? [] : onCount(row, expected, run);
    }),
  ];
}

function noOthers(expectation: string, others: readonly string[]): Verdict {
  return { expectation, met: others.length === 0, found: summed(others) };
}

function equal(expectation: string, expected: number, found: number): Verdict {
  const met = expected === found;
  return { expectation: `${expectation}: ${expected}`, met, found: met ? '' : String(found) };
}

/** @param group - the results of one delivery of the file; never empty */
function onDeliveries(group: readonly EndedDelivery[]): readonly Verdict[] {
  const { index, given, type } = group[0] as EndedDelivery;
  const { outcome, copies: expectedOfCopies } = given.expect;
  const statuses = given.expect.statuses ?? (given.forged === undefined ? undefined : [401]);
  const name = given.name ?? given.forged ?? given.again ?? given.fixture ?? type ?? 'a body';
  const what = `delivery ${index} (${name})`;
  const verdicts: Verdict[] = [];
  if (statuses !== undefined) {
    const text = statuses.map(nameOfStatus).join(', ');
    const found = group.map(({ attempts }) => attempts.map(statusOf).join(', '));
    const others = found.filter((one) => one !== text);
    verdicts.push(noOthers(`${what} gets ${text}`, others));
  }
  const ofCopies = (expectedOfCopies ?? statuses)?.map(nameOfStatus);
  const copies = group.flatMap((end) => (end.byHand ?? end).copies).map(statusOf);
  if (ofCopies !== undefined && copies.length > 0) {
    const others = copies.filter((status) => !ofCopies.includes(status));
    verdicts.push(noOthers(`copies of ${what} get ${[...new Set(ofCopies)].join(' or ')}`, others));
  }
  if (outcome !== undefined) {
    const others = group.map((end) => end.outcome).filter((found) => found !== outcome);
    verdicts.push(noOthers(`${what} is ${outcome}`, others));
  }
  return verdicts;
}

function onStatuses(expected: Readonly<Record<string, number>>, found: readonly string[]): readonly Verdict[] {
  const verdicts = Object.entries(expected).map(([status, count]) => {
    const what = status === 'none' ? 'requests without a response' : `requests that got ${status}`;
    return equal(what, count, found.filter((one) => one === status).length);
  });
  const others = found.filter((status) => !(status in expected));
  return verdicts.length === 0 ? [] : [...verdicts, noOthers('no other responses', others)];
}

/** The run, and the contents of the inbox. */
interface Judged extends Findings, Pick<ScenarioRun, 'plan' | 'requests' | 'deadLetters'> {}

interface CountRow {
  readonly what: string;
  /** `null` if only the built-in receiver knows */
  readonly count: (judged: Judged) => number | null;
  readonly needsInbox?: boolean;
  /** the expectation "once", and the events that break it */
  readonly once?: readonly [expectation: string, wrong: (judged: Judged) => readonly string[]];
}

const COUNTS = {
  faults: { what: 'faults', count: ({ requests }) => faultsIn(requests).length, needsInbox: false },
  deadLetters: { what: 'dead letters', count: ({ deadLetters }) => deadLetters, needsInbox: false },
  stored: {
    what: 'events stored',
    count: ({ events }) => events.length,
    once: ['every event is stored once', notStored],
  },
  handled: {
    what: 'events handled once',
    count: ({ events }) => events.filter((event) => whyNotHandled(event) === null).length,
    once: ['every event is handled once', notHandled],
  },
  redeliveries: { what: 'redeliveries', count: ({ events }) => sum(events, ({ redeliveries }) => redeliveries) },
  dead: { what: 'dead events', count: ({ events }) => sum(events, ({ state }) => Number(state === 'dead')) },
  superseded: { what: 'handler runs with ctx.superseded', count: ({ superseded }) => superseded },
} as const satisfies Readonly<Record<string, CountRow>>;

function onCount(
  { what, count, needsInbox = true, once }: CountRow,
  expected: number | 'once',
  run: ScenarioRun,
): Verdict {
  const expectation = expected === 'once' ? (once?.[0] ?? what) : `${what}: ${expected}`;
  const notChecked = (why: string): Verdict => ({ expectation, met: null, found: `not checked: ${why}` });
  if (needsInbox && run.findings === null) return notChecked('pass the inbox of the receiver with --db');
  const judged = { ...run, events: [], superseded: null, ...run.findings };
  if (expected === 'once') {
    const found = once?.[1](judged) ?? [];
    const more = found.length > 3 ? `, and ${found.length - 3} more` : '';
    return { expectation, met: found.length === 0, found: found.slice(0, 3).join(', ') + more };
  }
  const found = count(judged);
  return found === null ? notChecked('only the built-in receiver can count them') : equal(what, expected, found);
}

/** Events with other bytes, stored twice, missing, or never sent by the service. */
function notStored(judged: Judged): readonly string[] {
  const seen = new Set<string>();
  const wrong = judged.events.flatMap(({ id, body }) => {
    const original = judged.plan.events.get(id);
    if (original === undefined) return `the service never sent ${id}`;
    if (seen.has(id)) return `${id} is stored twice`;
    seen.add(id);
    return body === null || Buffer.compare(body, original) !== 0 ? `${id} has a different body` : [];
  });
  return [...wrong, ...missing(judged)];
}

function notHandled(judged: Judged): readonly string[] {
  return [...judged.events.flatMap((event) => whyNotHandled(event) ?? []), ...missing(judged)];
}

function missing({ plan, events }: Judged): readonly string[] {
  const stored = new Set(events.map(({ id }) => id));
  return [...plan.events.keys()].filter((id) => !stored.has(id)).map((id) => `${id} is missing`);
}

function whyNotHandled({ id, state, processed, effects, untakenType }: EventFinding): string | null {
  if (untakenType !== null) return `${id} is ${state}, because no handler handles ${oneLine(untakenType)}`;
  if (state !== 'processed') return `${id} is ${state}`;
  if (processed !== 1) return `${id} was processed ${processed} times`;
  return effects === null || effects === 1 ? null : `${id} had its effect ${effects} times`;
}

/** Each text once, with its count. */
function summed(texts: readonly string[]): string {
  const groups = Map.groupBy(texts, (text) => text);
  return [...groups].map(([text, { length }]) => (length === 1 ? text : `${text} (${length} times)`)).join('; ');
}

export function statusOf({ status }: Pick<DeliveryAttempt, 'status'>): string {
  return nameOfStatus(status);
}

function nameOfStatus(status: number | null): string {
  return status === null ? 'none' : String(status);
}

/** The kind of each fault that requests had. */
export function faultsIn(requests: readonly DeliveryAttempt[]): readonly string[] {
  return requests.flatMap(({ fault }) => (fault === null || fault === 'copy' ? [] : fault.split('+')));
}

export function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((all, item) => all + count(item), 0);
}
