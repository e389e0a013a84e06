import type { NamedInbox } from '../../host/shell-words.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { TOTALS } from '../../ops/stats.ts';
import {
  getEvent,
  stats,
  type Percentiles,
  type Stats,
  type Totals,
  rejectedDeliveries,
  type RejectedDelivery,
} from '../../ops/index.ts';
import { changesOf, type Changes, failedPart, markInWords, verdict } from '../../ops/releases.ts';
import { age, bounded, latency, number, percent } from '../../ops/words/format.ts';
import { causeOfRejection } from '../../ops/words/rejection-causes.ts';
import { calmText, warningsOf } from '../../ops/health.ts';
import { oneLine } from '../../printable.ts';
import { rerunIgnoredCommand } from '../../processing/announcer.ts';
import { existingInbox } from '../shared/inbox.ts';
import { namedInbox, optionalTime, shownInbox, timeOption, type WideOptions } from '../shared/options.ts';
import { EXIT, usageError, type ExitCode, print, printJson, styled, tell } from '../shared/output.ts';
import { printList, table, texts, times, type Columns } from '../shared/table.ts';
import type { InboxOptions } from './options.ts';
import { idText, timeText, waitText, orDash } from './event-table.ts';

interface StatsOptions extends InboxOptions {
  readonly since: string;
  readonly until?: string;
  readonly steps: number;
}

export async function printStats(options: StatsOptions): Promise<ExitCode> {
  const { steps, json = false } = options;
  const since = timeOption('--since', options.since);
  const until = optionalTime('until', options.until) ?? new Date();
  if (since >= until) throw usageError('--since must be before --until.');
  await using inbox = await existingInbox(options);
  const found = await stats(inbox, { since, until, steps });
  // JSON has no infinity.
  const finite = (_: string, value: unknown): unknown => (value === Infinity ? 'inf' : value);
  if (json) printJson(JSON.parse(JSON.stringify(found, finite)));
  else {
    const now = new Date();
    const { oldestPending } = found.now;
    const oldest = oldestPending && (await getEvent(inbox, oldestPending));
    print(styled('bold', 'Now'));
    const gauges = ['pending', 'retrying', 'processing', 'dead', 'ignored', 'discarded'] as const;
    const oldestText =
      oldestPending && `${idText(oldestPending)}, for ${age(now.getTime() - oldestPending.since.getTime())}`;
    table([...gauges, 'oldest pending'], [[...gauges.map((state) => bounded(found.now[state])), oldestText ?? '-']]);
    if (oldest?.wait) print('', `${idText(oldest.summary)} ${waitText(oldest.summary, oldest.wait, now)}`);
    printWatch(found, inbox, now);
    printUnhandled(found, namedInbox(options));
    printCounts(found);
    printChanges(await changesOf(inbox, found, age(until.getTime() - since.getTime()), now));
  }
  return EXIT.ok;
}

function printWatch({ traffic, unhandled, processing }: Stats, inbox: Pick<Inbox, 'file'>, now: Date): void {
  const watch = { traffic, unhandled, ...processing };
  // printUnhandled prints these.
  const warnings = warningsOf(watch, inbox, now);
  for (const { alarm, text } of warnings) if (alarm !== 'unhandled') print('', styled('bold', text));
  const calm = calmText(watch, now, warnings);
  if (calm !== '') print('', calm);
}

function printUnhandled({ unhandled: { waiting, ignored, ignoredSince } }: Stats, named: NamedInbox): void {
  for (const { endpoint, type, since, ...count } of waiting) {
    const line =
      since === null
        ? `no processor has ever handled events of the endpoint ${oneLine(endpoint)}: ${bounded(count)} pending (${oneLine(type)})`
        : `no processor has handled ${oneLine(type)} at ${oneLine(endpoint)} since ${timeText(since)}: ${bounded(count)} pending`;
    print('', line);
  }
  for (const { endpoint, type, count, more } of ignored) {
    print(
      `\n${oneLine(type)}: ${bounded({ count, more })} ignored because no processor handled the type. To rerun them:`,
    );
    print(rerunIgnoredCommand({ endpoint, types: [type], ignoredSince }, named));
  }
}

function printCounts(found: Stats): void {
  const { since, until, totals, byType, rejectedByReason, answerMs, handlerMs } = found;
  title(`From ${timeText(since)} to ${timeText(until)}`);
  table(
    ['what', 'count', 'over time'],
    TOTALS.map((what) => [labelOf(what), number(totals[what]), sparkline(found, what)]),
  );
  print(
    '',
    `${percent(found.redeliveryRate)} of deliveries were redeliveries, ${percent(found.rejectionRate)} were rejected`,
  );

  title('Latency');
  table(
    ['of', 'measured', 'p50', 'p90', 'p99', 'most'],
    [
      ['answers', ...percentilesOf(answerMs)],
      ['handlers', ...percentilesOf(handlerMs)],
    ],
  );

  const types = Object.entries(byType).toSorted(([, a], [, b]) => b.stored - a.stored);
  if (types.length > 0) {
    title('By type');
    const columns = ['stored', 'processed', 'failed', 'dead'] as const;
    table(
      ['type', ...columns.map(labelOf)],
      types.map(([type, counts]) => [oneLine(type), ...columns.map((what) => number(counts[what]))]),
    );
  }
  const reasons = Object.entries(rejectedByReason).toSorted(([, a], [, b]) => b - a);
  if (reasons.length > 0) {
    title('Rejected');
    table(
      ['reason', 'count'],
      reasons.map(([reason, count]) => [oneLine(reason), number(count)]),
    );
  }
}

/** The page uses the same words. A killed process also counts. */
function labelOf(what: keyof Totals): string {
  return what === 'failed' ? 'failed (to be retried)' : what;
}

function percentilesOf({ count, p50, p90, p99, max }: Percentiles): readonly string[] {
  return [number(count), ...[p50, p90, p99, max].map(latency)];
}

const BARS = '▁▂▃▄▅▆▇█';

function sparkline({ steps }: Stats, what: keyof Totals): string {
  const most = Math.max(...steps.map((step) => step[what]));
  if (most === 0) return '';
  return steps
    .map((step) => (step[what] === 0 ? ' ' : BARS[Math.ceil((step[what] / most) * BARS.length) - 1]))
    .join('');
}

function printChanges({ marks, types, spans }: Changes): void {
  for (const mark of marks.slice(-MOST_MARKS)) print('', `${timeText(mark.at)}  ${markInWords(mark)}`);
  if (types.length === 0) return;
  title(`Handler runs ${spans}`);
  table(
    ['type', 'runs', 'failed', 'before', 'dead', 'p50', 'before', 'p99'],
    types.map(({ type, before, after }) => [
      oneLine(type),
      number(after.ended),
      failedPart(after),
      failedPart(before),
      number(after.dead),
      latency(after.handlerMs.p50),
      latency(before.handlerMs.p50),
      latency(after.handlerMs.p99),
    ]),
  );
  print('', verdict(types));
}

const MOST_MARKS = 6;

function title(text: string): void {
  print('', styled('bold', text));
}

interface RejectedOptions extends InboxOptions, WideOptions {
  readonly limit: number;
}

export async function rejected(options: RejectedOptions): Promise<ExitCode> {
  await using inbox = await existingInbox(options);
  const deliveries = await rejectedDeliveries(inbox, options.limit);
  printList(deliveries, REJECTED_COLUMNS, options);
  if (options.json === true) return EXIT.ok;
  if (deliveries.length === 0) tell(`${shownInbox(options)} has no rejected deliveries.`);
  for (const reason of new Set(deliveries.map((each) => each.reason))) {
    const { cause, advice } = causeOfRejection(reason, inbox);
    tell('', `${oneLine(reason)}: ${cause}`, `  ${advice}`);
  }
  return EXIT.ok;
}

const REJECTED_COLUMNS: Columns<RejectedDelivery> = [
  [times('last'), ({ lastAt }) => timeText(lastAt)],
  [times('first'), ({ firstAt }) => timeText(firstAt)],
  ['times', ({ count }) => number(count)],
  [texts('reason'), ({ reason }) => oneLine(reason)],
  ['bytes', ({ bytes }) => (bytes === null ? '-' : number(bytes))],
  [texts('from'), ({ source }) => orDash(source)],
  [texts('endpoint'), ({ endpoint }) => oneLine(endpoint)],
  ['SHA-256 of the body', ({ sha256 }) => orDash(sha256)],
];
