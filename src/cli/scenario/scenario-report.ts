import { createHash } from 'node:crypto';
import { number } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import type { DeliveryAttempt } from '../../sender/service.ts';
import { print, printJson, styled } from '../shared/output.ts';
import type { ScenarioRun, EndedDelivery } from './run-scenario.ts';
import type { Scenario } from './scenario-file.ts';
import type { EventFinding } from './scenario-receivers.ts';

/** What a scenario was and how it went; the same seed gives the same. */
interface Report {
  readonly scenario: string;
  readonly seed: number;
  /** `null` where nothing was missed, but not everything could be looked at */
  readonly met: boolean | null;
  readonly interrupted: boolean;
  /** what the service knew and lived through */
  readonly sender: {
    readonly events: number;
    readonly delivered: number;
    /** of these, by manual retries */
    readonly deliveredByHand: number;
    readonly deadLetters: number;
    readonly requests: number;
    readonly statuses: Readonly<Record<string, number>>;
    readonly faults: number;
    readonly faultKinds: Readonly<Record<string, number>>;
    readonly forged: number;
    /** on its clock */
    readonly ms: number;
  };
  /** `null` where its inbox could not be looked into */
  readonly receiver: {
    readonly stored: number;
    readonly redeliveries: number;
    readonly processed: number;
    readonly dead: number;
    /** `null` where only its own handlers know */
    readonly effects: number | null;
  } | null;
  readonly expectations: readonly Verdict[];
  readonly deliveries: readonly ReportedDelivery[];
  /** of all deliveries, for comparing two runs at a glance */
  readonly fingerprint: string;
}

interface ReportedDelivery {
  readonly id: string | null;
  readonly type: string | null;
  readonly outcome: string;
  readonly attempts: readonly {
    readonly number: number;
    readonly at: Date;
    readonly fault: string | null;
    readonly status: number | null;
    readonly why: string | null;
  }[];
}

/** Sums up what is known when a scenario is over. */
export function reportOn(
  scenario: string,
  seed: number,
  { plan, deliveries, requests, deadLetters, findings, tookMs, interrupted }: ScenarioRun,
  expectations: readonly Verdict[],
): Report {
  const { count, kinds } = faultsIn(requests);
  const reported = deliveries.map(({ id, type, outcome, attempts, byHand }) => ({
    id,
    type,
    outcome: byHand?.outcome === 'delivered' ? DELIVERED_BY_HAND : outcome,
    attempts: (byHand?.attempts ?? attempts).map(({ number, at, fault, status, why }) => ({
      number,
      at,
      fault,
      status,
      why,
    })),
  }));
  const idsOf = (...outcomes: readonly string[]): ReadonlySet<string | null> =>
    new Set(reported.filter(({ outcome }) => outcomes.includes(outcome)).map(({ id }) => id));
  const bySchedule = idsOf('delivered');
  const delivered = idsOf('delivered', DELIVERED_BY_HAND);
  const events = findings?.events ?? [];
  const sum = (count: (event: (typeof events)[number]) => number): number =>
    events.reduce((all, e) => all + count(e), 0);
  return {
    scenario,
    seed,
    met: interrupted ? false : allMet(expectations),
    interrupted,
    sender: {
      events: plan.events.size,
      delivered: delivered.size,
      deliveredByHand: delivered.size - bySchedule.size,
      deadLetters,
      requests: requests.length,
      statuses: statusesIn(requests),
      faults: count,
      faultKinds: kinds,
      forged: deliveries.filter(({ given }) => given.forged !== undefined).length,
      ms: Math.round(tookMs),
    },
    receiver: findings && {
      stored: events.length,
      redeliveries: sum(({ redeliveries }) => redeliveries),
      processed: sum(({ state }) => (state === 'processed' ? 1 : 0)),
      dead: sum(({ state }) => (state === 'dead' ? 1 : 0)),
      effects: events.some(({ effects }) => effects === null) ? null : sum(({ effects }) => effects ?? 0),
    },
    expectations,
    deliveries: reported,
    fingerprint: createHash('sha256')
      .update(JSON.stringify(reported.map(withoutTimes)))
      .digest('hex')
      .slice(0, 16),
  };
}

const DELIVERED_BY_HAND = 'delivered-by-hand';

function allMet(expectations: readonly Verdict[]): boolean | null {
  if (expectations.some(({ met }) => met === false)) return false;
  return expectations.some(({ met }) => met === null) ? null : true;
}

/** Times depend on how fast the machine is where they are waited for. */
function withoutTimes({ attempts, ...delivery }: ReportedDelivery): object {
  return { ...delivery, attempts: attempts.map(({ number, fault, status, why }) => ({ number, fault, status, why })) };
}

/** Prints a report: as JSON, or for people. */
export function printReport(report: Report, json: boolean): void {
  if (json) {
    printJson(report);
    return;
  }
  const { scenario, seed, sender, receiver, expectations, fingerprint } = report;
  const listed = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${number(count)} ${/^\d/.test(name) ? `got ${name}` : (WORDS[name] ?? name)}`)
      .join(', ');
  print(`${scenario}, seed ${seed}, ${inWords(sender.ms)} on the service's clock`);
  const byHand = sender.deliveredByHand === 0 ? '' : ` (${number(sender.deliveredByHand)} of them by hand)`;
  print(
    `  events     ${number(sender.events)}: ${number(sender.delivered)} delivered${byHand}, ` +
      `${number(sender.deadLetters)} dead letters`,
  );
  if (sender.requests > 0) print(`  requests   ${number(sender.requests)}: ${listed(sender.statuses)}`);
  if (sender.forged > 0) print(`  forged     ${number(sender.forged)} of these requests`);
  if (sender.faults > 0) print(`  faults     ${number(sender.faults)}: ${listed(sender.faultKinds)}`);
  if (receiver !== null) {
    const effects = receiver.effects === null ? '' : `, ${number(receiver.effects)} handler effects`;
    const dead = receiver.dead === 0 ? '' : `, ${number(receiver.dead)} dead`;
    print(
      `  receiver   ${number(receiver.stored)} stored, ${number(receiver.redeliveries)} redeliveries, ` +
        `${number(receiver.processed)} processed${dead}${effects}`,
    );
  }
  print(`  fingerprint ${fingerprint} (every run with this seed has the same fingerprint)`);
  for (const verdict of expectations) print(lineFor(verdict));
}

const WORDS: Readonly<Record<string, string>> = { none: 'got no answer' };

function lineFor({ expectation, met, found }: Verdict): string {
  if (met === null) return `${styled('yellow', '  -')} ${expectation}: ${found}`;
  return met
    ? `${styled('green', '  ✓')} ${expectation}`
    : `${styled('red', '  ✗')} ${expectation}, but found: ${found}`;
}

/** The two largest units that are not zero, for people. */
export function inWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(' ');
}

/** A time since the start as `hh:mm:ss`. */
export function asClock(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const digits = (value: number): string => String(value).padStart(2, '0');
  return `${digits(Math.floor(seconds / 3_600))}:${digits(Math.floor(seconds / 60) % 60)}:${digits(seconds % 60)}`;
}

/** One thing that a scenario expects, and whether it is so. */
interface Verdict {
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

/** How a status is written where there may be none. */
function statusOf(status: number | null): string {
  return status === null ? 'none' : String(status);
}

/** How many requests were answered with each status; `none` for those without an answer. */
function statusesIn(requests: readonly DeliveryAttempt[]): Readonly<Record<string, number>> {
  return counts(requests.map(({ status }) => statusOf(status)));
}

/** How many faults requests had, by their kinds. */
function faultsIn(requests: readonly DeliveryAttempt[]): {
  readonly count: number;
  readonly kinds: Readonly<Record<string, number>>;
} {
  const kinds = requests.flatMap(({ fault }) => (fault === null || fault === 'copy' ? [] : fault.split('+')));
  return { count: kinds.length, kinds: counts(kinds) };
}

/** The most frequent first. */
function counts(names: readonly string[]): Readonly<Record<string, number>> {
  const groups = [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length] as const);
  return Object.fromEntries(groups.toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}
