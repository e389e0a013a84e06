import { startRatio, type StartTime } from './command-start.ts';
import { worstGrowth, type OperatorsComparison } from './operators/answering.ts';
import { pruningRatio, type PruningComparison } from './operators/pruning.ts';
import type { ReplayCell } from './replay.ts';
import { baseline, durable, handWritten, peers } from './rows.ts';
import type { HandledEventsComparison } from './handled-events.ts';
import type { StoredEventsComparison } from './stored-events.ts';
import { isSound, ratioOf, ratioOfRates, type ThroughputCell } from './throughput.ts';
import type { VerifyAndParseTime } from './verify-and-parse.ts';

/** The number of connections that the goals speak of. */
export const goalConnections = 64;

/** Everything one run measured; a table that was left out is empty or `null`. */
export interface Measurements {
  readonly throughput: readonly ThroughputCell[];
  readonly verifyAndParse: readonly VerifyAndParseTime[];
  readonly storedEvents: StoredEventsComparison | null;
  readonly handledEvents: HandledEventsComparison | null;
  readonly commandStart: readonly StartTime[];
  readonly replay: readonly ReplayCell[];
  readonly operators: OperatorsComparison | null;
  readonly pruning: PruningComparison | null;
}

/** One goal and what became of it. */
export interface Verdict {
  readonly goal: string;
  readonly result: string;
}

/** Judges a run by the project's goals. A timing is no test: this only tells. */
export function verdicts(measured: Measurements): Verdict[] {
  const { throughput, verifyAndParse, storedEvents, handledEvents, commandStart, operators, pruning } = measured;
  const cellOf = (name: string): ThroughputCell | undefined =>
    throughput.find(({ row, connections }) => row === name && connections === goalConnections);
  const stored = cellOf(durable.name);
  const of = (name: string): number | null => ratio(stored, cellOf(name));
  return [
    atLeast(`stored: 5 times the requests/s of ${handWritten.name}`, 5, of(handWritten.name)),
    atLeast('stored: half of the requests/s of bare Hono', 0.5, of(baseline)),
    ...peers.map(({ name }) => atLeast(`stored: ahead of ${name}, which stores nothing`, 1, of(name))),
    atLeast(
      'stored: 0.8 of itself with 1,000,000 processed events in the file',
      0.8,
      storedEvents && storedEvents.stored >= 1_000_000 ? ratio(storedEvents.full, storedEvents.empty) : null,
    ),
    atLeast(
      'stored and handled: 0.4 of the events/s that are stored without handling',
      0.4,
      handledEvents && handledRatio(handledEvents.empty, handledEvents.storedOnly),
    ),
    atLeast(
      'stored and handled: 0.8 of itself with 1,000,000 processed events in the file',
      0.8,
      handledEvents && handledEvents.stored >= 1_000_000 ? handledRatio(handledEvents.full, handledEvents.empty) : null,
    ),
    below('verify and parse: under half the time of standardwebhooks', 0.5, timeRatio(verifyAndParse)),
    below('hookbox --version: at most 1.5 times Node importing its parser', 1.5, startRatio(commandStart)),
    below(
      'operators: every question takes under 3 times as long with 1,000,000 events',
      3,
      operators && worstGrowth(operators),
    ),
    below('pruning: p99 under 2 times the undisturbed one', 2, pruning && pruningRatio(pruning)),
  ];
}

function ratio(cell: ThroughputCell | undefined, other: ThroughputCell | undefined): number | null {
  return cell && other && isSound(cell) && isSound(other) ? ratioOf(cell, other) : null;
}

/** Of what the other handles, or stores if it handles nothing. */
function handledRatio(cell: ThroughputCell, other: ThroughputCell): number | null {
  if (!isSound(cell) || !isSound(other)) return null;
  return ratioOfRates(cell.handledRates, other.handling === null ? other.rates : other.handledRates);
}

function timeRatio(times: readonly VerifyAndParseTime[]): number | null {
  const own = times.find(({ name }) => name === 'hookbox');
  const other = times.find(({ name }) => name === 'standardwebhooks');
  return own && other ? own.microseconds / other.microseconds : null;
}

function atLeast(goal: string, wanted: number, measured: number | null): Verdict {
  return verdict(goal, measured, (value) => value >= wanted, wanted);
}

function below(goal: string, wanted: number, measured: number | null): Verdict {
  return verdict(goal, measured, (value) => value < wanted, wanted);
}

function verdict(goal: string, measured: number | null, met: (value: number) => boolean, wanted: number): Verdict {
  if (measured === null) return { goal, result: 'not measured' };
  const how = met(measured) ? 'met' : `missed by ${Math.abs(measured - wanted).toFixed(2)}`;
  return { goal, result: `${how} (${measured.toFixed(2)})` };
}
