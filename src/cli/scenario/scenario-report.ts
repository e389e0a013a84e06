import { createHash } from 'node:crypto';
import { number } from '../../ops/words/format.ts';
import { print, printJson, styled } from '../shared/output.ts';
import { inWords } from './scenario-times.ts';
import type { Verdict } from './expectations.ts';
import type { ScenarioRun } from './run-scenario.ts';
import { faultsIn, statusesIn } from './request-counts.ts';

/** What a scenario was and how it went; the same seed gives the same. */
export interface Report {
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
