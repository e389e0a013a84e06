import { moderateRate, type HandledEventsComparison } from './handled-events.ts';
import type { Spread } from './handling.ts';
import { percent, range, rate, SHARE_2XX, share2xx, table, whole } from './markdown.ts';
import { ratioOfRates, type ThroughputCell } from './throughput.ts';

/** The fourth table, in two: how much is handled, and how soon. */
export function handledEventsTable(comparison: HandledEventsComparison): string {
  const { stored, fileBytes, storedOnly, empty, full, moderate } = comparison;
  const before = `${whole(stored)} processed events before (${whole(fileBytes / 1024 ** 2)} MiB)`;
  const named: [string, ThroughputCell][] = [
    ['stored only', storedOnly],
    ['stored and handled', empty],
    [`the same, ${before}`, full],
    [`the same, empty, at ${moderateRate} requests/s`, moderate],
  ];
  const isFullLoad = (cell: ThroughputCell): boolean => cell !== moderate;
  const rates = named
    .filter(([, cell]) => isFullLoad(cell))
    .map(([title, cell]) => [
      title,
      rate(cell),
      range(cell.rates),
      cell.handling === null ? '–' : whole(cell.handling.handledPerSecond),
      range(cell.handledRates),
      ratio(cell.handledRates, storedOnly.rates),
      cell === full ? ratio(cell.handledRates, empty.handledRates) : '–',
      percent(cell.handling?.shareByThen ?? null),
      share2xx(cell.share2xx),
    ]);
  const times = named.flatMap(([title, { handling }]) =>
    handling === null ? [] : [[title, ...milliseconds(handling.waitMs), ...milliseconds(handling.loopDelayMs)]],
  );
  return [
    '### Stored and handled',
    `One process stores and handles, with up to 100 handlers at once that do nothing. ${empty.connections} connections; ` +
      `medians of ${empty.rates.length} interleaved round(s). Handled/s counts from the first request until the handler ` +
      `of the last stored event has run, after the load too; its ratio is to what is stored without handling. Handled ` +
      `by then: of what was stored, when the load ended.`,
    table(
      ['Full load', 'Stored/s', 'Range', 'Handled/s', 'Range', 'Of stored only'].concat([
        'Of the empty file',
        'Handled by then %',
        SHARE_2XX,
      ]),
      rates,
    ),
    'Wait is from the answer to the start of the handler, 0 if the handler was first. Loop delay is that of the event ' +
      'loop under load; its max is the worst of all rounds.',
    table(['ms', 'Wait p50', 'Wait p99', 'Wait max', 'Loop delay p50', 'Loop delay p99', 'Loop delay max'], times),
  ].join('\n\n');
}

function ratio(rates: readonly number[], others: readonly number[]): string {
  return rates.length === 0 ? '–' : ratioOfRates(rates, others).toFixed(2);
}

function milliseconds(spread: Spread | null): string[] {
  return spread === null ? ['–', '–', '–'] : [spread.p50, spread.p99, spread.max].map((value) => value.toFixed(1));
}
