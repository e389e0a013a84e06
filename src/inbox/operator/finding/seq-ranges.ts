import type { EventFilter } from '../search.ts';

/** Events from one `seq` on and before another. */
export interface SeqRange {
  readonly from: number;
  readonly before: number;
}

/** The order in which events were stored. */
export type SeqOrder = 'newest' | 'oldest';

export function inOrder(seqs: readonly number[], order: SeqOrder): readonly number[] {
  return seqs.toSorted(order === 'newest' ? (a, b) => b - a : (a, b) => a - b);
}

export function placed(
  seqs: readonly number[],
  { from, before }: SeqRange,
  limit: number,
  order: SeqOrder,
): readonly number[] {
  const within = seqs.filter((seq) => seq >= from && seq < before);
  return inOrder(within, order).slice(0, limit);
}

/** The part of a range that is in another one; it may be empty. */
export function overlap(one: SeqRange, other: SeqRange): SeqRange {
  return { from: Math.max(one.from, other.from), before: Math.min(one.before, other.before) };
}

export function nonEmpty(ranges: readonly SeqRange[]): readonly SeqRange[] {
  return ranges.filter(({ from, before }) => from < before);
}

export function rangesBeyond(ranges: readonly SeqRange[], seq: number, order: SeqOrder): readonly SeqRange[] {
  const beyond = order === 'newest' ? { from: 0, before: seq } : { from: seq + 1, before: Number.MAX_SAFE_INTEGER };
  return nonEmpty(ranges.map((range) => overlap(range, beyond)));
}

export interface Extent {
  /** of the newest event; 0 if there are none */
  readonly newestSeq: number;
  /** the terms of events up to this `seq` are in the index */
  readonly indexed: number;
  /** imports put events here among others that were received at other times */
  readonly disorder: SeqRange | null;
}

export interface ReceivedTimes {
  /** so many samples for one end of a span are worth one statement */
  readonly samplesAtOnce: number;
  /** The times at which the first events of each range were received. */
  receivedIn(
    ranges: readonly SeqRange[],
    limit: number,
  ): readonly (readonly number[])[] | Promise<readonly (readonly number[])[]>;
}

/**
 * Events are stored nearly in the order in which they were received, but they may wait, and clocks may be set. A search by time
 * looks so much earlier and later than asked for.
 */
const MARGIN_MS = 60 * 60_000;
/** So many events in a row tell the time: one with a wrong time does not mislead. */
const SAMPLE = 32;

/**
 * Where events that were received in a span of time can be, the newest first. No index knows the time, so samples find the
 * ends. Events among which an import mixed others are always in a range.
 *
 * @param page - where the page can be
 */
export async function rangesWithin(
  times: ReceivedTimes,
  { since, until }: Pick<EventFilter, 'since' | 'until'>,
  page: SeqRange,
  { newestSeq, disorder }: Pick<Extent, 'newestSeq' | 'disorder'>,
): Promise<readonly SeqRange[]> {
  const all = overlap(page, { from: 0, before: newestSeq + 1 });
  if (since === undefined && until === undefined) return nonEmpty([all]);

  const mixed = disorder ?? { from: all.before, before: all.before };
  const inTime = [
    { from: mixed.before, before: all.before },
    { from: all.from, before: mixed.from },
  ].map((part) => overlap(part, all));
  const first = since && inTime.map((range) => firstSince(range, since.getTime() - MARGIN_MS));
  const end = until && inTime.map((range) => firstAllFrom(range, until.getTime() + MARGIN_MS));
  const isOpen = (edge: Edge): boolean => !edge.isFound;
  for (let open = [...(first ?? []), ...(end ?? [])].filter(isOpen); open.length > 0; open = open.filter(isOpen)) {
    const samples = open.map((edge) => edge.samples(times.samplesAtOnce));
    const received = [...(await times.receivedIn(samples.flat(), SAMPLE))];
    for (const [n, edge] of open.entries()) edge.take(received.splice(0, samples[n]?.length));
  }
  const [newer, older] = inTime.map(({ from, before }, n) => ({
    from: first?.[n]?.seq ?? from,
    before: end?.[n]?.seq ?? before,
  }));
  return nonEmpty([newer, overlap(mixed, all), older].flatMap((range) => range ?? []));
}

/** Where the first sample begins that has an event of this time or a later one. */
function firstSince(range: SeqRange, time: number): Edge {
  return new Edge(range, (received) => received.length === 0 || Math.max(...received) >= time, false);
}

/** Where the first sample begins that has only events of this time or later. */
function firstAllFrom(range: SeqRange, time: number): Edge {
  return new Edge(range, (received) => Math.min(...received) >= time, true);
}

/** The first `seq` of a range from which on samples fit; the end of the range if none does. */
class Edge {
  readonly #before: number;
  readonly #fits: (received: readonly number[]) => boolean;
  readonly #isBehindLastMisfit: boolean;
  #low: number;
  #high: number;
  #sampled: readonly SeqRange[] = [];

  /** @param isBehindLastMisfit - samples that do not fit matter more than those that do */
  constructor({ from, before }: SeqRange, fits: (received: readonly number[]) => boolean, isBehindLastMisfit: boolean) {
    this.#before = before;
    this.#fits = fits;
    this.#isBehindLastMisfit = isBehindLastMisfit;
    this.#low = from;
    this.#high = Math.max(from, before);
  }

  get isFound(): boolean {
    return this.#low === this.#high;
  }

  get seq(): number {
    return this.#low;
  }

  /** Samples that divide the range in equal parts. */
  samples(count: number): readonly SeqRange[] {
    const width = this.#high - this.#low;
    const places = Array.from({ length: count }, (_, n) => this.#low + Math.floor((width * (n + 1)) / (count + 1)));
    this.#sampled = [...new Set(places)].map((from) => ({ from, before: this.#before }));
    return this.#sampled;
  }

  take(received: readonly (readonly number[])[]): void {
    const fits = received.map((times) => this.#fits(times));
    const first = fits.indexOf(true);
    const at = this.#isBehindLastMisfit ? fits.lastIndexOf(false) + 1 : first === -1 ? fits.length : first;
    const [misfit, fit] = [this.#sampled[at - 1], this.#sampled[at]];
    if (misfit !== undefined) this.#low = misfit.from + 1;
    if (fit !== undefined) this.#high = fit.from;
  }
}

/**
 * The events whose times tell whether new events are out of order, and how many these are. Imports and numbers that come late
 * put events out of order.
 */
export function aroundNew(first: number, last: number): { readonly range: SeqRange; readonly limit: number } {
  return {
    range: { from: first - SAMPLE, before: Number.MAX_SAFE_INTEGER },
    limit: SAMPLE + last - first + 1 + SAMPLE,
  };
}

/** Whether events were received much earlier than others before them. The engine notes it, so that no search by time skips them. */
export function isOutOfOrder(received: readonly number[]): boolean {
  let latest = -Infinity;
  return received.some((time) => {
    latest = Math.max(latest, time);
    return time < latest - MARGIN_MS;
  });
}
