import { randomInt } from 'node:crypto';
import { whyUnreachable } from '../shared/unreachable.ts';
import type { DeliveryAttempt } from '../../sender/service.ts';
import { type DbOptions, targetOf } from '../shared/options.ts';
import { CommandError, EXIT, usageError, type ExitCode, styled, tell } from '../shared/output.ts';
import { interruption, progressBar } from '../shared/interruption.ts';
import { oneLine } from '../../printable.ts';
import { secretOf, type SecretOptions } from '../shared/secret.ts';
import { asClock, verdictsOn, printReport, reportOn } from './scenario-report.ts';
import { loadScenario, type Scenario } from './scenario-file.ts';
import { ownReceiver, PATIENCE_MS, type ScenarioReceiver, remoteReceiver } from './scenario-receivers.ts';
import { runScenario } from './run-scenario.ts';

/** The options of `scenario run`. */
export interface ScenarioRunOptions extends Partial<DbOptions>, SecretOptions {
  readonly to?: string;
  readonly endpoint: string;
  readonly seed?: number;
  readonly timeScale?: number;
  readonly allowRemote?: boolean;
  readonly verbose?: boolean;
  readonly json?: boolean;
}

const GIVE_DB = '; pass the inbox of the receiver with --db';

/** One more than the largest seed. */
export const SEEDS = 2 ** 32;

/** Plays a scenario, prints how it went, and resolves with how to exit. */
export async function runAndReport(fileOrName: string, options: ScenarioRunOptions): Promise<ExitCode> {
  const { seed = randomInt(SEEDS), timeScale, json = false, verbose = false } = options;
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
    ...(timeScale !== undefined && { timeScale }),
    onKnown(count) {
      tell(
        `note: ${count} of these events are already in the inbox of the receiver. To create other events, use a different --seed.`,
      );
    },
    onWait(count) {
      progress.above(() => tell(`waiting up to ${PATIENCE_MS / 1_000} s for the handlers of ${count} events`));
    },
    onAttempt(attempt, share) {
      if (verbose) progress.above(() => tellAttempt(attempt, start));
      progress.show(share, `${asClock(attempt.at.getTime() - start)} on the service's clock`);
    },
  }).finally(() => progress.end());

  const report = reportOn(name, seed, run, run.interrupted ? [] : verdictsOn(scenario, run));
  printReport(report, json);
  if (run.interrupted) {
    tell('the run was interrupted, so nothing was checked');
    return EXIT.interrupted;
  }
  if (report.met === null) tell(`Some expectations could not be checked${run.findings === null ? GIVE_DB : ''}`);
  return report.met === null ? EXIT.partial : report.met ? EXIT.ok : EXIT.failed;
}

async function receiverOf(scenario: Scenario, options: ScenarioRunOptions): Promise<ScenarioReceiver> {
  const { to, db, schema, endpoint, allowRemote = false } = options;
  if (to === undefined) {
    // What everything else here works on is no mistake.
    if (db !== undefined && db !== process.env['HOOKBOX_DB'])
      throw usageError('--db is the inbox of the receiver at --to. Use --to and --db together, or neither.');
    return ownReceiver(scenario);
  }
  const url = targetOf(to, allowRemote);
  const secret = await secretOf(options);
  const why = await whyUnreachable(url);
  if (why !== null) throw new CommandError(`hookbox cannot reach ${url.origin}: ${why}. Start a receiver there first.`);
  const stored = db === undefined ? null : { db, ...(schema !== undefined && { schema }) };
  return remoteReceiver({ url, secret, endpoint, ...(stored && { stored }) });
}

function tellAttempt({ at, type, id, number, fault, status, why, note }: DeliveryAttempt, start: number): void {
  const colour = why === null ? 'green' : 'red';
  const columns = [
    asClock(at.getTime() - start),
    styled(colour, String(status ?? '---'), process.stderr),
    oneLine(type ?? '-').padEnd(22),
    oneLine(id ?? '-'),
    `try ${number}`,
    ...(fault === null ? [] : [fault]),
    ...[why, note].flatMap((words) => (words === null ? [] : [oneLine(words)])),
  ];
  tell(columns.join('  '));
}
