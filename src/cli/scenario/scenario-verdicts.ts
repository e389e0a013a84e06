import { oneLine } from '../../printable.ts';
import type { DeliveryAttempt } from '../../sender/service.ts';
import type { EndedDelivery, ScenarioRun } from './run-scenario.ts';
import type { Scenario } from './scenario-file.ts';
import type { EventFinding, Findings } from './scenario-receivers.ts';

export interface Verdict {
  readonly expectation: string;
  /** `null` if it could not be checked */
  readonly met: boolean | null;
  /** what was found instead, or why nothing could be found */
  readonly found: string;
}

export function verdictsOn({ expect }: Scenario, run: ScenarioRun): readonly Verdict[] {
  return [
    ...[...Map.groupBy(run.deliveries, ({ index }) => index).values()].flatMap(onDeliveries),
    ...onStatuses(expect.statuses, run.requests.map(statusOf)),
    ...COUNTS.flatMap((row) => onCount(row, expect[row.key], run)),
  ];
}

function none(expectation: string, others: readonly string[]): Verdict {
  return { expectation, met: others.length === 0, found: summed(others) };
}

function equal(expectation: string, expected: number, found: number): Verdict {
  const met = expected === found;
  return { expectation: `${expectation}: ${expected}`, met, found: met ? '' : String(found) };
}

/** @param group - what one delivery of the file has become; it is never empty */
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
    verdicts.push(
      none(
        `${what} gets ${text}`,
        found.filter((one) => one !== text),
      ),
    );
  }
  const ofCopies = (expectedOfCopies ?? statuses)?.map(nameOfStatus);
  const copies = group.flatMap((end) => (end.byHand ?? end).copies).map(statusOf);
  if (ofCopies !== undefined && copies.length > 0) {
    const others = copies.filter((status) => !ofCopies.includes(status));
    verdicts.push(none(`copies of ${what} get ${[...new Set(ofCopies)].join(' or ')}`, others));
  }
  if (outcome !== undefined) {
    const others = group.map((end) => end.outcome).filter((found) => found !== outcome);
    verdicts.push(none(`${what} is ${outcome}`, others));
  }
  return verdicts;
}

function onStatuses(expected: Readonly<Record<string, number>>, found: readonly string[]): readonly Verdict[] {
  const verdicts = Object.entries(expected).map(([status, count]) => {
    const what = status === 'none' ? 'requests without a response' : `requests that got ${status}`;
    return equal(what, count, found.filter((one) => one === status).length);
  });
  const others = found.filter((status) => !(status in expected));
  return verdicts.length === 0 ? [] : [...verdicts, none('no other responses', others)];
}

/** What the receiver stored, against what the service sent. */
interface Stored extends Findings {
  readonly sent: ReadonlyMap<string, Uint8Array>;
}

/** An expectation that is a number; `once` is the same for every event. */
interface CountRow {
  readonly key: 'faults' | 'deadLetters' | 'stored' | 'handled' | 'redeliveries' | 'dead' | 'superseded';
  readonly what: string;
  readonly ofRun?: (run: ScenarioRun) => number;
  /** `null` if only the built-in receiver knows */
  readonly inInbox?: (stored: Stored) => number | null;
  readonly once?: string;
  /** what is not once */
  readonly wrong?: (stored: Stored) => readonly string[];
}

const COUNTS: readonly CountRow[] = [
  { key: 'faults', what: 'faults', ofRun: ({ requests }) => faultsIn(requests).length },
  { key: 'deadLetters', what: 'dead letters', ofRun: ({ deadLetters }) => deadLetters },
  {
    key: 'stored',
    what: 'events stored',
    inInbox: ({ events }) => events.length,
    once: 'every event is stored once',
    wrong: (stored) => [...whyNotStored(stored), ...missing(stored)],
  },
  {
    key: 'handled',
    what: 'events handled once',
    inInbox: ({ events }) => events.filter((event) => whyNotHandled(event) === null).length,
    once: 'every event is handled once',
    wrong: (stored) => [...stored.events.map(whyNotHandled).filter((why) => why !== null), ...missing(stored)],
  },
  {
    key: 'redeliveries',
    what: 'redeliveries',
    inInbox: ({ events }) => sum(events, ({ redeliveries }) => redeliveries),
  },
  { key: 'dead', what: 'dead events', inInbox: ({ events }) => sum(events, ({ state }) => Number(state === 'dead')) },
  { key: 'superseded', what: 'handler runs with ctx.superseded', inInbox: ({ superseded }) => superseded },
];

function onCount(row: CountRow, expected: number | 'once' | undefined, run: ScenarioRun): readonly Verdict[] {
  if (expected === undefined) return [];
  const { what, ofRun, inInbox, once = '', wrong } = row;
  const notChecked = (why: string): readonly Verdict[] => {
    const expectation = expected === 'once' ? once : `${what}: ${expected}`;
    return [{ expectation, met: null, found: `not checked: ${why}` }];
  };
  if (ofRun !== undefined && expected !== 'once') return [equal(what, expected, ofRun(run))];
  if (run.findings === null) return notChecked('pass the inbox of the receiver with --db');
  const stored = { ...run.findings, sent: run.plan.events };
  if (expected === 'once') {
    const found = wrong?.(stored) ?? [];
    const more = found.length > 3 ? `, and ${found.length - 3} more` : '';
    return [{ expectation: once, met: found.length === 0, found: found.slice(0, 3).join(', ') + more }];
  }
  const count = inInbox?.(stored) ?? null;
  return count === null ? notChecked('only the built-in receiver can count them') : [equal(what, expected, count)];
}

/** Events with other bytes, twice there, or never sent by the service. */
function whyNotStored({ sent, events }: Stored): readonly string[] {
  const seen = new Set<string>();
  return events.flatMap(({ id, body }) => {
    const original = sent.get(id);
    if (original === undefined) return `the service never sent ${id}`;
    if (seen.has(id)) return `${id} is stored twice`;
    seen.add(id);
    return body === null || Buffer.compare(body, original) !== 0 ? `${id} has a different body` : [];
  });
}

function missing({ sent, events }: Stored): readonly string[] {
  const stored = new Set(events.map(({ id }) => id));
  return [...sent.keys()].filter((id) => !stored.has(id)).map((id) => `${id} is missing`);
}

function whyNotHandled({ id, state, processed, effects, untakenType }: EventFinding): string | null {
  if (untakenType !== null) return `${id} is ${state}, because no handler handles ${oneLine(untakenType)}`;
  if (state !== 'processed') return `${id} is ${state}`;
  if (processed !== 1) return `${id} was processed ${processed} times`;
  return effects === null || effects === 1 ? null : `${id} had its effect ${effects} times`;
}

/** Each text once, with how often it occurs. */
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
