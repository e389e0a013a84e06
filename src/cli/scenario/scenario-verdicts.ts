import { oneLine } from '../../printable.ts';
import type { DeliveryAttempt } from '../../sender/service.ts';
import type { ScenarioRun } from './run-scenario.ts';
import type { Scenario } from './scenario-file.ts';
import type { EventFinding } from './scenario-receivers.ts';

export interface Verdict extends Met {
  readonly expectation: string;
}

interface Met {
  /** `null` where it could not be checked */
  readonly met: boolean | null;
  /** what was found instead, or why nothing could be found */
  readonly found: string;
}

export function verdictsOn(scenario: Scenario, run: ScenarioRun): readonly Verdict[] {
  return [...onDeliveries(run), ...onRequests(scenario, run), ...onInbox(scenario, run)];
}

function onDeliveries({ deliveries }: ScenarioRun): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  const judge = (expectation: string, others: readonly string[]): void => {
    verdicts.push({ expectation, met: others.length === 0, found: summed(others) });
  };
  for (const group of Map.groupBy(deliveries, ({ index }) => index).values()) {
    const [{ index, given, type } = { given: undefined }] = group;
    if (given === undefined) continue; // no group is empty
    const { outcome, copies: expectedOfCopies } = given.expect;
    const statuses = given.expect.statuses ?? (given.forged === undefined ? undefined : [401]);
    const name = given.name ?? given.forged ?? given.again ?? given.fixture ?? type ?? 'a body';
    const what = `delivery ${index} (${name})`;
    if (statuses !== undefined) {
      const text = statuses.map(String).map(noneForNull).join(', ');
      const found = group.map(({ attempts }) => attempts.map(statusOf).join(', '));
      judge(
        `${what} gets ${text}`,
        found.filter((one) => one !== text),
      );
    }
    const ofCopies = (expectedOfCopies ?? statuses)?.map(String).map(noneForNull);
    const copies = group.flatMap((end) => (end.byHand ?? end).copies).map(statusOf);
    if (ofCopies !== undefined && copies.length > 0) {
      const text = [...new Set(ofCopies)].join(' or ');
      judge(
        `copies of ${what} get ${text}`,
        copies.filter((status) => !ofCopies.includes(status)),
      );
    }
    if (outcome !== undefined) {
      judge(
        `${what} is ${outcome}`,
        group.map((end) => end.outcome as string).filter((found) => found !== outcome),
      );
    }
  }
  return verdicts;
}

function onRequests({ expect }: Scenario, { requests, deadLetters }: ScenarioRun): readonly Verdict[] {
  const found = requests.map(statusOf);
  const counted = (what: string, expected: number | undefined, count: number): readonly Verdict[] =>
    expected === undefined ? [] : [{ expectation: `${what}: ${expected}`, ...equal(expected, count) }];
  const verdicts = Object.entries(expect.statuses).flatMap(([status, count]) => {
    const what = status === 'none' ? 'requests without a response' : `requests that got ${status}`;
    return counted(what, count, found.filter((one) => one === status).length);
  });
  const others = found.filter((status) => !(status in expect.statuses));
  const noOthers = { expectation: 'no other responses', met: others.length === 0, found: summed(others) };
  return [
    ...verdicts,
    ...(verdicts.length > 0 ? [noOthers] : []),
    ...counted('faults', expect.faults, faultsIn(requests).length),
    ...counted('dead letters', expect.deadLetters, deadLetters),
  ];
}

function onInbox({ expect }: Scenario, { plan, findings }: ScenarioRun): readonly Verdict[] {
  const events = findings?.events ?? [];
  const superseded = findings?.superseded ?? null;
  const judge = (expectation: string, expected: number | undefined, judged: () => Met): readonly Verdict[] => {
    if (expected === undefined) return [];
    const hidden = { met: null, found: 'not checked: pass the inbox of the receiver with --db' };
    return [{ expectation, ...(findings === null ? hidden : judged()) }];
  };
  const all = (
    what: string,
    expected: number | 'once' | undefined,
    counted: string,
    wrong: () => readonly string[],
    count: () => number,
  ) =>
    expected === 'once'
      ? judge(`every event is ${what} once`, 1, () => listed(wrong()))
      : judge(`${counted}: ${expected}`, expected, () => equal(expected ?? 0, count()));
  const counted = (what: string, expected: number | undefined, count: (event: EventFinding) => number) =>
    judge(`${what}: ${expected}`, expected, () => equal(expected ?? 0, sum(events, count)));
  return [
    ...all(
      'stored',
      expect.stored,
      'events stored',
      () => notStoredOnce(plan.events, events),
      () => events.length,
    ),
    ...all(
      'handled',
      expect.handled,
      'events handled once',
      () => notHandledOnce(plan.events, events),
      () => events.filter((event) => whyNotOnce(event) === null).length,
    ),
    ...counted('redeliveries', expect.redeliveries, ({ redeliveries }) => redeliveries),
    ...counted('dead events', expect.dead, ({ state }) => Number(state === 'dead')),
    ...judge(`handler runs with ctx.superseded: ${expect.superseded}`, expect.superseded, () =>
      superseded === null
        ? { met: null, found: 'not checked: only the built-in receiver can count them' }
        : equal(expect.superseded ?? 0, superseded),
    ),
  ];
}

/** What is not stored, stored with other bytes, or stored and never sent by the service. */
function notStoredOnce(sent: ReadonlyMap<string, Uint8Array>, found: readonly EventFinding[]): readonly string[] {
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (const { id, body } of found) {
    const original = sent.get(id);
    if (original === undefined) wrong.push(`the service never sent ${id}`);
    else if (seen.has(id)) wrong.push(`${id} is stored twice`);
    else if (body === null || Buffer.compare(body, original) !== 0) wrong.push(`${id} has a different body`);
    seen.add(id);
  }
  return [...wrong, ...missing(sent, found)];
}

function notHandledOnce(sent: ReadonlyMap<string, Uint8Array>, found: readonly EventFinding[]): readonly string[] {
  return [...found.map(whyNotOnce).filter((why) => why !== null), ...missing(sent, found)];
}

function missing(sent: ReadonlyMap<string, Uint8Array>, found: readonly EventFinding[]): readonly string[] {
  const stored = new Set(found.map(({ id }) => id));
  return [...sent.keys()].filter((id) => !stored.has(id)).map((id) => `${id} is missing`);
}

function whyNotOnce({ id, state, processed, effects, untakenType }: EventFinding): string | null {
  if (untakenType !== null) return `${id} is ${state}, because no handler handles ${oneLine(untakenType)}`;
  if (state !== 'processed') return `${id} is ${state}`;
  if (processed !== 1) return `${id} was processed ${processed} times`;
  return effects === null || effects === 1 ? null : `${id} had its effect ${effects} times`;
}

function equal(expected: number, found: number): Met {
  return expected === found ? { met: true, found: '' } : { met: false, found: String(found) };
}

function listed(wrong: readonly string[]): Met {
  const more = wrong.length > 3 ? `, and ${wrong.length - 3} more` : '';
  return { met: wrong.length === 0, found: wrong.slice(0, 3).join(', ') + more };
}

/** Each text once, with how often it stands there. */
function summed(texts: readonly string[]): string {
  const groups = Map.groupBy(texts, (text) => text);
  return [...groups].map(([text, { length }]) => (length === 1 ? text : `${text} (${length} times)`)).join('; ');
}

export function statusOf({ status }: Pick<DeliveryAttempt, 'status'>): string {
  return noneForNull(String(status));
}

function noneForNull(status: string): string {
  return status === 'null' ? 'none' : status;
}

/** The kind of each fault that requests had. */
export function faultsIn(requests: readonly DeliveryAttempt[]): readonly string[] {
  return requests.flatMap(({ fault }) => (fault === null || fault === 'copy' ? [] : fault.split('+')));
}

export function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((all, item) => all + count(item), 0);
}
