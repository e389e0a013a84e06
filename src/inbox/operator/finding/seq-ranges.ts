import type { EventFilter } from '../search.ts';

export interface SeqRange {
  readonly from: number;
  readonly before: number;
}

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

/** May be empty. */
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
  readonly newestSeq: number;
  readonly indexed: number;
  /** imports stored events out of order here */
  readonly disorder: SeqRange | null;
}

export interface ReceivedTimes {
  /** this many samples are worth one statement */
  readonly samplesAtOnce: number;
  receivedIn(
    ranges: readonly SeqRange[],
    limit: number,
  ): readonly (readonly number[])[] | Promise<readonly (readonly number[])[]>;
}

/** Deliveries may wait, and clocks may be set, so the order of events is only nearly that of their times. */
const MARGIN_MS = 60 * 60_000;
/** One wrong time does not mislead a sample. */
const SAMPLE = 32;

/**
 * Returns the ranges that can contain events of a span of time, newest first. No index has the time, so samples find
 * the ends. Events out of
 * order are always in a range.
 *
 * @param page - the range that can contain the page
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

/** The first sample with an event of this time or later. */
function firstSince(range: SeqRange, time: number): Edge {
  return new Edge(range, (received) => received.length === 0 || Math.max(...received) >= time, false);
}

/** The first sample with only events of this time or later. */
function firstAllFrom(range: SeqRange, time: number): Edge {
  return new Edge(range, (received) => Math.min(...received) >= time, true);
}

/** Finds the first `seq` from which on samples match. */
class Edge {
  readonly #before: number;
  readonly #fits: (received: readonly number[]) => boolean;
  readonly #isBehindLastMisfit: boolean;
  #low: number;
  #high: number;
  #sampled: readonly SeqRange[] = [];

  /** @param isBehindLastMisfit - samples that do not match matter more than those that do */
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

  /** The samples divide the range into equal parts. */
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

/** The events that show whether new events are out of order. */
export function aroundNew(first: number, last: number): { readonly range: SeqRange; readonly limit: number } {
  return {
    range: { from: first - SAMPLE, before: Number.MAX_SAFE_INTEGER },
    limit: SAMPLE + last - first + 1 + SAMPLE,
  };
}

/** A search by time would skip events that were received much earlier than those before them. */
export function isOutOfOrder(received: readonly number[]): boolean {
  let latest = -Infinity;
  return received.some((time) => {
    latest = Math.max(latest, time);
    return time < latest - MARGIN_MS;
  });
}
