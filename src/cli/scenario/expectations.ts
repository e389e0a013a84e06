import { oneLine } from '../../printable.ts';
import type { EventFinding } from './scenario-receiver.ts';
import type { EndedDelivery, ScenarioRun } from './run-scenario.ts';
import type { Scenario } from './scenario-schema.ts';
import { faultsIn, statusOf, statusesIn } from './request-counts.ts';

/** One thing that a scenario expects, and whether it is so. */
export interface Verdict {
  readonly expectation: string;
  /** `null` where it could not be looked at */
  readonly met: boolean | null;
  /** what was found instead, or why nothing could be found */
  readonly found: string;
}

/** Judges a scenario that has come to its end. */
export function verdictsOn(scenario: Scenario, run: ScenarioRun): readonly Verdict[] {
  return [...onDeliveries(run), ...onRequests(scenario, run), ...onInbox(scenario, run)];
}

function onDeliveries({ deliveries }: ScenarioRun): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  for (const [index, group] of Map.groupBy(deliveries, ({ index }) => index)) {
    const [{ given, type }] = group as [EndedDelivery, ...EndedDelivery[]]; // no group is empty
    const { outcome } = given.expect;
    const statuses: Statuses | undefined = given.expect.statuses ?? (given.forged === undefined ? undefined : [401]);
    const what = `delivery ${index} (${given.name ?? given.forged ?? given.again ?? given.fixture ?? type ?? 'a body'})`;
    if (statuses !== undefined) {
      const text = statuses.map(statusOf).join(', ');
      const others = group.map(heard).filter((heard) => heard !== text);
      verdicts.push(judged(`${what} gets ${text}`, others.length === 0, summed(others)));
    }
    const ofCopies: Statuses | undefined = given.expect.copies ?? statuses;
    const copies = group.flatMap((end) => (end.byHand ?? end).copies);
    if (ofCopies !== undefined && copies.length > 0) {
      const others = copies.map(({ status }) => status).filter((status) => !ofCopies.includes(status));
      const text = [...new Set(ofCopies)].map(statusOf).join(' or ');
      verdicts.push(judged(`copies of ${what} get ${text}`, others.length === 0, summed(others.map(statusOf))));
    }
    if (outcome !== undefined) {
      const others = group.map((end) => end.outcome).filter((found) => found !== outcome);
      verdicts.push(judged(`${what} is ${outcome}`, others.length === 0, summed(others)));
    }
  }
  return verdicts;
}

type Statuses = readonly (number | null)[];

function heard({ attempts }: EndedDelivery): string {
  return attempts.map(({ status }) => statusOf(status)).join(', ');
}

function onRequests({ expect }: Scenario, run: ScenarioRun): readonly Verdict[] {
  const statuses = statusesIn(run.requests);
  const others = run.requests.map(({ status }) => statusOf(status)).filter((status) => !(status in expect.statuses));
  const isComplete = Object.keys(expect.statuses).length > 0;
  return [
    ...Object.entries(expect.statuses).map(([status, count]) => {
      const what = status === 'none' ? 'requests without a response' : `requests that got ${status}`;
      return counted(what, count, statuses[status] ?? 0);
    }),
    ...(isComplete ? [judged('no other responses', others.length === 0, summed(others))] : []),
    ...(expect.faults === undefined ? [] : [counted('faults', expect.faults, faultsIn(run.requests).count)]),
    ...(expect.deadLetters === undefined ? [] : [counted('dead letters', expect.deadLetters, run.deadLetters)]),
  ];
}

function onInbox({ expect }: Scenario, { plan, findings }: ScenarioRun): readonly Verdict[] {
  const { stored, handled, redeliveries, superseded, dead } = expect;
  const found = findings?.events ?? [];
  const verdicts: Verdict[] = [];
  const judge = (expectation: string, verdict: () => Pick<Verdict, 'met' | 'found'>): void => {
    const hidden = { met: null, found: 'not checked: pass the inbox of the receiver with --db' };
    verdicts.push({ expectation, ...(findings === null ? hidden : verdict()) });
  };

  if (stored === 'once') judge('every event is stored once', () => listed(notStoredOnce(plan.events, found)));
  else if (stored !== undefined) judge(`events stored: ${stored}`, () => equal(stored, found.length));
  if (handled === 'once') judge('every event is handled once', () => listed(notHandledOnce(plan.events, found)));
  else if (handled !== undefined) {
    judge(`events handled once: ${handled}`, () =>
      equal(handled, found.filter((event) => whyNotOnce(event) === null).length),
    );
  }
  if (redeliveries !== undefined) {
    const count = found.reduce((sum, event) => sum + event.redeliveries, 0);
    judge(`redeliveries: ${redeliveries}`, () => equal(redeliveries, count));
  }
  if (dead !== undefined) {
    judge(`dead events: ${dead}`, () => equal(dead, found.filter(({ state }) => state === 'dead').length));
  }
  if (superseded !== undefined) {
    judge(`handler runs with ctx.superseded: ${superseded}`, () => {
      const unknown = { met: null, found: 'not checked: only the built-in receiver can count them' };
      const told = findings?.superseded ?? null;
      return told === null ? unknown : equal(superseded, told);
    });
  }
  return verdicts;
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
  for (const id of sent.keys()) if (!seen.has(id)) wrong.push(`${id} is missing`);
  return wrong;
}

/** What the service has sent and was not handled, or more than once. */
function notHandledOnce(sent: ReadonlyMap<string, Uint8Array>, found: readonly EventFinding[]): readonly string[] {
  const stored = new Set(found.map(({ id }) => id));
  const missing = [...sent.keys()].filter((id) => !stored.has(id)).map((id) => `${id} is missing`);
  return [...found.map(whyNotOnce).filter((why) => why !== null), ...missing];
}

function whyNotOnce({ id, state, processed, effects, untakenType }: EventFinding): string | null {
  if (untakenType !== null) return `${id} is ${state}, because no handler handles ${oneLine(untakenType)}`;
  if (state !== 'processed') return `${id} is ${state}`;
  if (processed !== 1) return `${id} was processed ${processed} times`;
  return effects === null || effects === 1 ? null : `${id} had its effect ${effects} times`;
}

function judged(expectation: string, met: boolean, found: string): Verdict {
  return { expectation, met, found: met ? '' : found };
}

function counted(what: string, expected: number, found: number): Verdict {
  return { expectation: `${what}: ${expected}`, ...equal(expected, found) };
}

function equal(expected: number, found: number): Pick<Verdict, 'met' | 'found'> {
  return expected === found ? { met: true, found: '' } : { met: false, found: String(found) };
}

const SHOWN = 3;

function listed(wrong: readonly string[]): Pick<Verdict, 'met' | 'found'> {
  if (wrong.length === 0) return { met: true, found: '' };
  const more = wrong.length > SHOWN ? `, and ${wrong.length - SHOWN} more` : '';
  return { met: false, found: wrong.slice(0, SHOWN).join(', ') + more };
}

/** Each text once, with how often it stands there. */
function summed(texts: readonly string[]): string {
  const groups = Map.groupBy(texts, (text) => text);
  return [...groups].map(([text, { length }]) => (length === 1 ? text : `${text} (${length} times)`)).join('; ');
}
