import { commandStartTable } from './command-start.ts';
import type { FdatasyncTime } from './fdatasync.ts';
import { handledEventsTable } from './handled-events-table.ts';
import type { Machine } from './machine.ts';
import { percent, range, rate, SHARE_2XX, share2xx, table, whole } from './markdown.ts';
import { operatorsTable } from './operators/answering.ts';
import { pruningTable } from './operators/pruning.ts';
import { replayTable } from './replay.ts';
import { baseline, rows } from './rows.ts';
import type { StoredEventsComparison } from './stored-events.ts';
import { ratioOf, type ThroughputCell } from './throughput.ts';
import { verdicts, type Measurements } from './verdicts.ts';
import type { VerifyAndParseTime } from './verify-and-parse.ts';

/** A run with everything needed to judge its numbers. */
export interface Run extends Measurements {
  readonly machine: Machine;
  readonly fdatasync: FdatasyncTime;
  readonly settings: { readonly seconds: number; readonly warmUpSeconds: number; readonly rounds: number };
}

/** The whole run as Markdown. */
export function report(run: Run): string {
  const { machine, fdatasync, settings } = run;
  const sections = [
    [
      `Measured on ${machine.date}: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.os}, ` +
        `Node ${machine.node}; load from ${machine.generator}, one thread in a process of its own on the same machine.`,
      `Making 4 KiB durable on this disk (fdatasync, ${fdatasync.repeats} times): ` +
        `median ${fdatasync.medianMs.toFixed(2)} ms, p99 ${fdatasync.p99Ms.toFixed(2)} ms.`,
    ].join('\n\n'),
  ];
  if (run.throughput.length > 0) {
    sections.push(
      '### Requests per second\n\n' +
        `Signed \`order.created\` events of about 400 bytes. ${settings.warmUpSeconds} s of warm-up, ${settings.seconds} s ` +
        `measured; medians of ${settings.rounds} interleaved round(s), which lie at most ` +
        `${percent(widest(run.throughput))} % apart. Ratios compare each round with itself. A figure is void if the ` +
        `generator needed more than 90 % of a core, and disturbed if in most rounds everything else on the machine or its ` +
        `host took more than 10 %. The most were ${percent(most(run.throughput, 'generatorCpu'))} % and ` +
        `${percent(most(run.throughput, 'othersCpu'))} %.`,
      throughputTable(run.throughput),
    );
  }
  if (run.verifyAndParse.length > 0) sections.push(verifyAndParseTable(run.verifyAndParse));
  if (run.storedEvents) sections.push(storedEventsTable(run.storedEvents));
  if (run.handledEvents) sections.push(handledEventsTable(run.handledEvents));
  if (run.commandStart.length > 0) sections.push(commandStartTable(run.commandStart));
  if (run.replay.length > 0) sections.push(replayTable(run.replay));
  if (run.operators) sections.push(operatorsTable(run.operators));
  if (run.pruning) sections.push(pruningTable(run.pruning));
  sections.push(['### Goals', '', ...verdicts(run).map(({ goal, result }) => `- ${goal}: **${result}**`)].join('\n'));
  return sections.join('\n\n');
}

/** A line for each server, and three columns for each number of connections; `--json` keeps the rest. */
function throughputTable(all: readonly ThroughputCell[]): string {
  const connections = [...new Set(all.map((cell) => cell.connections))];
  const lines = [...new Set(all.map((cell) => cell.row))].map((name) => [
    rows.find((row) => row.name === name)?.title ?? name,
    ...connections.flatMap((count) => {
      const [cell, base] = [name, baseline].map((row) =>
        all.find((each) => each.row === row && each.connections === count),
      );
      if (cell === undefined) return ['–', '–', '–'];
      return [`${rate(cell)}${faults(cell)}`, base ? ratioOf(cell, base).toFixed(2) : '–', cell.p99Ms.toFixed(2)];
    }),
  ]);
  const heads = connections.flatMap((count) => [`${count} connection${count === 1 ? '' : 's'}`, 'of Hono', 'p99 ms']);
  return table(['Server', ...heads], lines);
}

function faults({ share2xx: share, socketErrors }: ThroughputCell): string {
  return `${share < 1 ? `, ${share2xx(share)} % 2xx` : ''}${socketErrors > 0 ? `, ${socketErrors} socket errors` : ''}`;
}

function widest(cells: readonly ThroughputCell[]): number {
  return Math.max(
    ...cells.map(({ rates, requestsPerSecond }) => (Math.max(...rates) - Math.min(...rates)) / requestsPerSecond),
  );
}

function most(cells: readonly ThroughputCell[], of: 'generatorCpu' | 'othersCpu'): number | null {
  const known = cells.map((cell) => cell[of]).filter((share) => share !== null);
  return known.length === 0 ? null : Math.max(...known);
}

function verifyAndParseTable(times: readonly VerifyAndParseTime[]): string {
  const own = times.find(({ name }) => name === 'hookbox')?.microseconds;
  const lines = times.map(({ title, microseconds }) => [
    title,
    microseconds.toFixed(1),
    own === undefined ? '–' : (microseconds / own).toFixed(2),
  ]);
  return `### Verify and parse one event\n\n${table(['Library', 'µs', 'Of hookbox'], lines)}`;
}

function storedEventsTable({ stored, fileBytes, empty, full }: StoredEventsComparison): string {
  const line = (title: string, cell: ThroughputCell): string[] => [
    title,
    rate(cell),
    range(cell.rates),
    ratioOf(cell, empty).toFixed(2),
    cell.p50Ms.toFixed(2),
    cell.p99Ms.toFixed(2),
    share2xx(cell.share2xx),
  ];
  const before = `${whole(stored)} processed events (${whole(fileBytes / 1024 ** 2)} MiB)`;
  return (
    `### hookbox, stored, with events already in the file\n\n` +
    `${empty.connections} connections; medians of ${empty.rates.length} measurements each, taking turns.\n\n` +
    table(
      ['In the file before', 'Requests/s', 'Range', 'Of the empty file', 'p50 ms', 'p99 ms', SHARE_2XX],
      [line('nothing', empty), line(before, full)],
    )
  );
}
