import type { Term } from '../../rules/search-words.ts';
import type { Steps } from '../../rules/steps.ts';
import { putAwayStates, type EventState, type PutAwayState } from '../../state.ts';
import type { Conditions } from './conditions.ts';
import { inOrder, type SeqOrder, type SeqRange } from './seq-ranges.ts';

/** Names the events of a range that an index knows, in an order and at most so many; `null` where it cannot. */
export type Source = (range: SeqRange, limit: number, order: SeqOrder) => Steps<readonly number[] | null>;

/** The indexes of an engine, each by what it names. It may name more than that: each event is looked at. */
export interface Sources {
  readonly everything: Source;
  /** what the index of entities and merchants has under a term */
  withTerm(term: Term): Source;
  withId(id: string): Source;
  /** a group of dead events */
  ofGroup(fingerprint: string): Source;
  putAway(state: PutAwayState): Source;
  readonly retrying: Source;
  /** dead events that died in a span of time, without tombstones; it cannot where there are too many of them */
  diedIn(span: FailureSpan): Source;
  readonly withConflict: Source;
  readonly redelivered: Source;
  /** what a bulk was done to */
  ofBulk(id: number): Source;
  /** all events of some states, of one time: processors move them from one to the other */
  inStates(states: readonly EventState[], types: readonly string[] | undefined): Source;
}

/** From one time on and before another; milliseconds since 1970. */
export interface FailureSpan {
  readonly from: number;
  readonly before: number;
}

/** A dead event, and when it died. */
export interface Died {
  readonly seq: number;
  readonly settledMs: number;
}

/** What tells which events died before others. */
export interface Deaths {
  /**
   * Dead events without tombstones that died in a span of time, the one that died last first, and of the same millisecond the
   * newest one: those behind a place, at most so many.
   */
  diedBefore(span: FailureSpan, place: Died | null, limit: number): Steps<readonly Died[]>;
}

/** How many events there are, up to a bound, where nobody asks which. */
export interface Amounts {
  /** in a range */
  allIn(range: SeqRange, most: number): Steps<number>;
  /** dead events without tombstones that died in a span of time */
  deadOf(span: FailureSpan, most: number): Steps<number>;
}

/** Names the events that a page looks at, of several ranges in the order asked for, at most so many. */
export type Candidates = (
  sources: Sources,
  ranges: readonly SeqRange[],
  limit: number,
  order: SeqOrder,
) => Steps<readonly number[]>;

/** One of the sources, whenever it is asked. */
type Choice = (sources: Sources) => Source;

const everything: Choice = (sources) => sources.everything;

/** So many events of each source tell which one is the narrowest. */
const COMPARED = 500;

/**
 * The narrowest source of events that the filter allows: the one whose first few hundred reach farthest back.
 *
 * @param ranges - where to look, the newest first
 * @param indexed - up to which `seq` the index knows the terms
 */
export function* candidatesFor(
  sources: Sources,
  conditions: Conditions,
  ranges: readonly SeqRange[],
  indexed: number,
): Steps<Candidates> {
  let narrowest = everything;
  let first: readonly number[] | null = null;
  for (const choice of [...choicesFor(conditions, indexed), everything]) {
    // What names all that there is need not be compared with the table.
    if (choice === everything && first !== null && first.length < COMPARED) break;
    const found = yield* inRanges(choice(sources), ranges, COMPARED, 'newest');
    if (found === null || (first !== null && !isNarrower(found, first))) continue;
    narrowest = choice;
    first = found;
  }
  return function* (now, among, limit, order) {
    // Its queue may have grown meanwhile, and then the table has to do.
    const found = yield* inRanges(narrowest(now), among, limit, order);
    return found ?? (yield* inRanges(now.everything, among, limit, order)) ?? [];
  };
}

/**
 * How many events fit, where an index names just these: nothing has to be looked at. `null` where none does.
 *
 * @param most - it counts up to so many
 */
export function* countNamed(
  sources: Sources & Amounts,
  { filter, terms, text, error, body, retryGroup }: Conditions,
  range: SeqRange,
  indexed: number,
  most: number,
): Steps<number | null> {
  if (text !== null || error !== null || body.length > 0 || retryGroup !== null) return null;
  const died = deadOnly(filter);
  if (died !== null) return yield* sources.deadOf(died, most);
  if (Object.values(filter).filter((value) => value !== undefined).length > 1) return null;
  const [term] = terms;
  // What is not indexed yet has to be read.
  if (term !== undefined && indexed < range.before - 1) return null;
  const choice = term === undefined ? namedBy(filter) : (of: Sources) => of.withTerm(term);
  if (choice === null) return null;
  if (choice === everything) return yield* sources.allIn(range, most);
  return (yield* inRanges(choice(sources), [range], most, 'newest'))?.length ?? null;
}

/** When what a filter asks for has died, where it asks for nothing else of dead events that have a body; `null` where it does. */
function deadOnly(filter: Conditions['filter']): FailureSpan | null {
  const { states, failedSince: _since, failedUntil: _until, ...others } = filter;
  const isOfDead = states?.every((state) => state === 'dead') === true && states.length > 0;
  if (!isOfDead || Object.values(others).some((value) => value !== undefined)) return null;
  return failureSpan(filter);
}

/** What names all events that fit a filter of one condition, and no others. */
function namedBy({
  states,
  retrying,
  conflict,
  redelivered,
  fingerprint,
  ...others
}: Conditions['filter']): Choice | null {
  if (Object.values(others).some((value) => value !== undefined)) return null;
  if (states !== undefined) {
    // Of the others a source may name events that a processor has moved on.
    const isAtRest = states.every((state) => putAwayStates.some((each) => each === state));
    return isAtRest ? (sources) => sources.inStates([...new Set(states)], undefined) : null;
  }
  if (fingerprint !== undefined) return (sources) => sources.ofGroup(fingerprint);
  if (retrying !== undefined) return retrying ? (sources) => sources.retrying : null;
  if (conflict !== undefined) return conflict ? (sources) => sources.withConflict : null;
  if (redelivered !== undefined) return redelivered ? (sources) => sources.redelivered : null;
  return everything;
}

function isNarrower(one: readonly number[], other: readonly number[]): boolean {
  const reach = (seqs: readonly number[]): number => (seqs.length < COMPARED ? 0 : (seqs.at(-1) ?? 0));
  return reach(one) < reach(other) || (reach(one) === reach(other) && one.length < other.length);
}

function* inRanges(
  source: Source,
  ranges: readonly SeqRange[],
  limit: number,
  order: SeqOrder,
): Steps<readonly number[] | null> {
  const seqs: number[] = [];
  for (const range of order === 'newest' ? ranges : ranges.toReversed()) {
    if (seqs.length === limit) break;
    const found = yield* source(range, limit - seqs.length, order);
    if (found === null) return null;
    for (const seq of found) seqs.push(seq);
  }
  return seqs;
}

function choicesFor({ filter, terms }: Conditions, indexed: number): readonly Choice[] {
  const { id, events, fingerprint, states, types } = filter;
  const choices: Choice[] = terms.map((term) => withTerm(term, indexed));
  if (id !== undefined) choices.push((sources) => sources.withId(id));
  if (events !== undefined) choices.push((sources) => anyOf(events.map((key) => sources.withId(key.id))));
  const span = failureSpan(filter);
  if (span !== null) {
    choices.push((sources) => anyOf([sources.diedIn(span), sources.retrying]));
    choices.push((sources) => anyOf([sources.putAway('dead'), sources.retrying]));
  }
  if (filter.bulk !== undefined) choices.push(ofBulk(filter.bulk));
  if (fingerprint !== undefined) choices.push((sources) => sources.ofGroup(fingerprint));
  if (filter.deadReasons !== undefined) choices.push((sources) => sources.putAway('dead'));
  if (filter.ignoredSince !== undefined) choices.push((sources) => sources.putAway('ignored'));
  if (filter.retrying === true) choices.push((sources) => sources.retrying);
  if (filter.conflict === true) choices.push((sources) => sources.withConflict);
  if (filter.redelivered === true) choices.push((sources) => sources.redelivered);
  if (states !== undefined) choices.push((sources) => sources.inStates([...new Set(states)], types));
  return choices;
}

/** The times of failure that a filter asks for; `null` where it asks for none. */
export function failureSpan({ failedSince, failedUntil }: Conditions['filter']): FailureSpan | null {
  if (failedSince === undefined && failedUntil === undefined) return null;
  return { from: failedSince?.getTime() ?? 0, before: failedUntil?.getTime() ?? Number.MAX_SAFE_INTEGER };
}

/** What any of them names; `null` where one of them cannot. */
function anyOf(parts: readonly Source[]): Source {
  return function* (range, limit, order) {
    const seqs = new Set<number>();
    for (const part of parts) {
      const found = yield* part(range, limit, order);
      if (found === null) return null;
      for (const seq of found) seqs.add(seq);
    }
    return inOrder([...seqs], order).slice(0, limit);
  };
}

function ofBulk(id: number): Choice {
  return (sources) => sources.ofBulk(id);
}

/** What is not in the index of terms yet, and what that has. */
function withTerm(term: Term, indexed: number): Choice {
  return (sources) =>
    function* ({ from, before }, limit, order) {
      const rest = (some: number) => sources.everything({ from: Math.max(from, indexed + 1), before }, some, order);
      const known = (some: number) =>
        sources.withTerm(term)({ from, before: Math.min(before, indexed + 1) }, some, order);
      const [first, second] = order === 'newest' ? [rest, known] : [known, rest];
      const one = yield* first(limit);
      if (one === null) return null;
      const other = yield* second(limit - one.length);
      return other === null ? null : [...one, ...other];
    };
}
