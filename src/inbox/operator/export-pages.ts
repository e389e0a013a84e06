import { turn } from '../../host/real-timers.ts';
import { Budget, withinBudget } from '../rules/budget.ts';
import { markLine, type ExportedMark } from './export-format.ts';
import type { EventFilter } from './filter.ts';
import type { Search } from './search.ts';
import type { ExportPage } from './transfer.ts';

/** Few enough to be read between two deliveries. */
const PAGE_EVENTS = 100;
const PAGE_BYTES = 1024 * 1024;
const FOUND_AT_ONCE = 500;

/** Where an export reads from. */
export interface ExportSource extends Pick<Search, 'search'> {
  /** Events behind one and before another, in their order. */
  sizedBehind(after: number, end: number, limit: number): Sized[] | Promise<readonly Sized[]>;
  sizedOf(seqs: readonly number[]): Sized[] | Promise<readonly Sized[]>;
  /** The lines of events that are there, all as of one moment: nothing is told of one that was not true at the same time. */
  lines(seqs: readonly number[]): string[] | Promise<readonly string[]>;
  /** In the order of their names. */
  marksBehind(after: MarkPlace, limit: number): PlacedMark[] | Promise<readonly PlacedMark[]>;
}

/** An event with the length of its bodies. */
export interface Sized {
  readonly seq: number;
  readonly bytes: number;
}

/** Where a mark stands among the others. */
export interface MarkPlace {
  readonly entity: string;
  readonly endpoint: string;
}

export interface PlacedMark {
  readonly mark: ExportedMark;
  readonly place: MarkPlace;
}

/** The pages of an export of what was stored before a `seq`. */
export async function* exportPagesBefore(
  source: ExportSource,
  filter: EventFilter,
  before: number | Promise<number>,
): AsyncGenerator<ExportPage, void> {
  const end = await before;
  if (!isWhole(filter)) return yield* whatFits(source, filter, end);
  for (let after = 0; ;) {
    const sized = await source.sizedBehind(after, end, PAGE_EVENTS);
    const page = firstPage(sized);
    if (page.length > 0) yield await pageOf(source, page);
    after = page.at(-1) ?? end;
    if (sized.length < PAGE_EVENTS && page.length === sized.length) break;
    await turn();
  }
  yield* markPages(source);
}

/** Whether a filter has no condition, so that an export by it is one of the inbox. */
export function isWhole(filter: EventFilter): boolean {
  return Object.values(filter).every((condition) => condition === undefined);
}

async function* whatFits(source: ExportSource, filter: EventFilter, end: number): AsyncGenerator<ExportPage, void> {
  // Searching goes from the newest to the oldest, so what fits is noted first: a number for each event.
  const found: number[] = [];
  for (let before: number | null = end; before !== null;) {
    const page = await source.search(filter, { before, limit: FOUND_AT_ONCE });
    for (const { seq } of page.events) found.push(seq);
    before = page.next;
    await turn();
  }
  found.reverse();
  for (let at = 0; at < found.length;) {
    const page = firstPage(await source.sizedOf(found.slice(at, at + PAGE_EVENTS)));
    if (page.length === 0) return;
    yield await pageOf(source, page);
    at += page.length;
    await turn();
  }
}

function firstPage(events: readonly Sized[]): readonly number[] {
  return withinBudget(events, new Budget(PAGE_BYTES)).map(({ seq }) => seq);
}

async function pageOf(source: ExportSource, seqs: readonly number[]): Promise<ExportPage> {
  const lines = await source.lines(seqs);
  return { lines, events: lines.length, marks: 0 };
}

async function* markPages(source: ExportSource): AsyncGenerator<ExportPage, void> {
  for (let after: MarkPlace = { entity: '', endpoint: '' }; ;) {
    const marks = await source.marksBehind(after, PAGE_EVENTS);
    if (marks.length > 0) yield { lines: marks.map(({ mark }) => markLine(mark)), events: 0, marks: marks.length };
    const last = marks.at(-1);
    if (last === undefined || marks.length < PAGE_EVENTS) return;
    after = last.place;
    await turn();
  }
}
