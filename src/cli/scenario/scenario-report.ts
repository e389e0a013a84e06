import { createHash, randomInt } from 'node:crypto';
import { number, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import type { DeliveryAttempt } from '../../sender/service.ts';
import { type DbOptions, targetOf } from '../shared/options.ts';
import { CommandError, EXIT, usageError, type ExitCode, print, printJson, styled, tell } from '../shared/output.ts';
import { interruption, progressBar } from '../shared/interruption.ts';
import { secretOf, type SecretOptions } from '../shared/secret.ts';
import { whyUnreachable } from '../shared/unreachable.ts';
import { runScenario, type ScenarioRun } from './run-scenario.ts';
import { faultsIn, statusOf, sum, verdictsOn, type Verdict } from './scenario-verdicts.ts';
import { loadScenario, type Scenario } from './scenario-file.ts';
import { ownReceiver, remoteReceiver, type ScenarioReceiver } from './scenario-receivers.ts';

interface ScenarioRunOptions extends Partial<DbOptions>, SecretOptions {
  readonly to?: string;
  readonly endpoint: string;
  readonly seed?: number;
  readonly timeScale?: number;
  readonly allowRemote?: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
}

export async function runAndReport(fileOrName: string, options: ScenarioRunOptions): Promise<ExitCode> {
  const { seed = randomInt(2 ** 32), timeScale, json = false, verbose = false } = options;
  const { name, scenario } = await loadScenario(fileOrName);
  const signal = interruption();
  await using receiver = await receiverOf(scenario, options);
  const start = Date.parse(scenario.startAt);
  tell(`seed ${seed}; --seed ${seed} repeats this run`);

  const progress = progressBar();
  const run = await runScenario(scenario, {
    seed,
    receiver,
    signal,
    timeScale,
    progress,
    onAttempt(attempt, share) {
      if (verbose) progress.above(() => tellAttempt(attempt, start));
      progress.show(share, `${asClock(attempt.at.getTime() - start)} on the service's clock`);
    },
  }).finally(() => progress.end());

  const report = reportOn(name, seed, run, run.interrupted ? [] : verdictsOn(scenario, run));
  if (json) printJson(report);
  else printReport(report);
  if (run.interrupted) {
    tell('the run was interrupted, so nothing was checked');
    return EXIT.interrupted;
  }
  const giveDb = run.findings === null ? '; pass the inbox of the receiver with --db' : '';
  if (report.met === null) tell(`Some expectations could not be checked${giveDb}`);
  return report.met === null ? EXIT.partial : report.met ? EXIT.ok : EXIT.failed;
}

async function receiverOf(scenario: Scenario, options: ScenarioRunOptions): Promise<ScenarioReceiver> {
  const { to, db, schema, endpoint, allowRemote = false } = options;
  if (to === undefined) {
    // HOOKBOX_DB is set for all commands.
    if (db !== undefined && db !== process.env['HOOKBOX_DB'])
      throw usageError('--db is the inbox of the receiver at --to. Use --to and --db together, or neither.');
    return ownReceiver(scenario);
  }
  const url = targetOf(to, allowRemote);
  const secret = await secretOf(options);
  const why = await whyUnreachable(url);
  if (why !== null) throw new CommandError(`hookbox cannot reach ${url.origin}: ${why}. Start a receiver there first.`);
  const stored = db === undefined ? null : { db, ...(schema !== undefined && { schema }) };
  return remoteReceiver(url, secret, endpoint, stored);
}

function tellAttempt({ at, type, id, number, fault, status, why, note }: DeliveryAttempt, start: number): void {
  const columns = [
    asClock(at.getTime() - start),
    styled(why === null ? 'green' : 'red', String(status ?? '---'), process.stderr),
    oneLine(type ?? '-').padEnd(22),
    oneLine(id ?? '-'),
    `try ${number}`,
    ...[fault, why, note].flatMap((words) => (words === null ? [] : [oneLine(words)])),
  ];
  tell(columns.join('  '));
}

type Report = ReturnType<typeof reportOn>;

const DELIVERED_BY_HAND = 'delivered-by-hand';

function reportOn(
  scenario: string,
  seed: number,
  { plan, deliveries, requests, deadLetters, findings, tookMs, interrupted }: ScenarioRun,
  expectations: readonly Verdict[],
) {
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
  const countIds = (...outcomes: readonly string[]): number =>
    new Set(reported.filter(({ outcome }) => outcomes.includes(outcome)).map(({ id }) => id)).size;
  const delivered = countIds('delivered', DELIVERED_BY_HAND);
  const faults = faultsIn(requests);
  const events = findings?.events ?? [];
  const missed = expectations.some(({ met }) => met === false);
  const unchecked = expectations.some(({ met }) => met === null);
  return {
    scenario,
    seed,
    met: interrupted || missed ? false : unchecked ? null : true,
    interrupted,
    sender: {
      events: plan.events.size,
      delivered,
      deliveredByHand: delivered - countIds('delivered'),
      deadLetters,
      requests: requests.length,
      statuses: countsOf(requests.map(statusOf)),
      faults: faults.length,
      faultKinds: countsOf(faults),
      forged: deliveries.filter(({ given }) => given.forged !== undefined).length,
      ms: Math.round(tookMs),
    },
    receiver: findings && {
      stored: events.length,
      redeliveries: sum(events, ({ redeliveries }) => redeliveries),
      processed: sum(events, ({ state }) => Number(state === 'processed')),
      dead: sum(events, ({ state }) => Number(state === 'dead')),
      effects: events.some(({ effects }) => effects === null) ? null : sum(events, ({ effects }) => effects ?? 0),
    },
    expectations,
    deliveries: reported,
    /** without times, which depend on the machine */
    fingerprint: createHash('sha256')
      .update(JSON.stringify(reported, (key, value: unknown) => (key === 'at' ? undefined : value)))
      .digest('hex')
      .slice(0, 16),
  };
}

function printReport({ scenario, seed, sender, receiver, expectations, fingerprint }: Report): void {
  const listed = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => {
        const what = /^\d/.test(name) ? `got ${name}` : name === 'none' ? 'got no answer' : name;
        return `${number(count)} ${what}`;
      })
      .join(', ');
  const unlessZero = (count: number, text: string): string => (count === 0 ? '' : text);
  print(`${scenario}, seed ${seed}, ${inWords(sender.ms)} on the service's clock`);
  const byHand = unlessZero(sender.deliveredByHand, ` (${number(sender.deliveredByHand)} of them by hand)`);
  print(
    `  events     ${number(sender.events)}: ${number(sender.delivered)} delivered${byHand}, ` +
      plural(sender.deadLetters, 'dead letter'),
  );
  if (sender.requests > 0) print(`  requests   ${number(sender.requests)}: ${listed(sender.statuses)}`);
  if (sender.forged > 0) print(`  forged     ${number(sender.forged)} of these requests`);
  if (sender.faults > 0) print(`  faults     ${number(sender.faults)}: ${listed(sender.faultKinds)}`);
  if (receiver !== null) {
    const effects = receiver.effects === null ? '' : `, ${plural(receiver.effects, 'handler effect')}`;
    print(
      `  receiver   ${number(receiver.stored)} stored, ${plural(receiver.redeliveries, 'redelivery', 'redeliveries')}, ` +
        `${number(receiver.processed)} processed${unlessZero(receiver.dead, `, ${number(receiver.dead)} dead`)}${effects}`,
    );
  }
  print(`  fingerprint ${fingerprint} (every run with this seed has the same fingerprint)`);
  for (const { expectation, met, found } of expectations) {
    if (met === null) print(`${styled('yellow', '  -')} ${expectation}: ${found}`);
    else if (met) print(`${styled('green', '  ✓')} ${expectation}`);
    else print(`${styled('red', '  ✗')} ${expectation}, but found: ${found}`);
  }
}

function countsOf(names: readonly string[]): Readonly<Record<string, number>> {
  const groups = [...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length] as const);
  return Object.fromEntries(groups.toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)));
}

export function inWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  const shown = parts.slice(first, first + 2).filter(([amount]) => amount > 0);
  return shown.map(([amount, unit]) => `${amount} ${unit}`).join(' ');
}

function asClock(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
