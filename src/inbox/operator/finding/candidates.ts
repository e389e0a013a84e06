import type { Term } from '../../rules/search-words.ts';
import type { Steps } from '../../rules/steps.ts';
import type { EventState } from '../../state.ts';
import type { Conditions } from './conditions.ts';
import type { SeqRange } from './seq-ranges.ts';

/** Names the events of a range that an index knows, the newest first and at most so many; `null` where it cannot. */
export type Source = (range: SeqRange, limit: number) => Steps<readonly number[] | null>;

/** The indexes of an engine, each by what it names. It may name more than that: each event is looked at. */
export interface Sources {
  readonly everything: Source;
  /** what the index of entities and merchants has under a term */
  withTerm(term: Term): Source;
  withId(id: string): Source;
  /** a group of dead events */
  ofGroup(fingerprint: string): Source;
  putAway(state: 'dead' | 'ignored'): Source;
  readonly retrying: Source;
  readonly withConflict: Source;
  readonly redelivered: Source;
  /** all events of some states, of one time: processors move them from one to the other */
  inStates(states: readonly EventState[], types: readonly string[] | undefined): Source;
}

/** Names the events that a page looks at, of several ranges, the newest first and at most so many. */
export type Candidates = (sources: Sources, ranges: readonly SeqRange[], limit: number) => Steps<readonly number[]>;

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
    const found = yield* inRanges(choice(sources), ranges, COMPARED);
    if (found === null || (first !== null && !isNarrower(found, first))) continue;
    narrowest = choice;
    first = found;
  }
  return function* (now, among, limit) {
    // Its queue may have grown meanwhile, and then the table has to do.
    const found = yield* inRanges(narrowest(now), among, limit);
    return found ?? (yield* inRanges(now.everything, among, limit)) ?? [];
  };
}

function isNarrower(one: readonly number[], other: readonly number[]): boolean {
  const reach = (seqs: readonly number[]): number => (seqs.length < COMPARED ? 0 : (seqs.at(-1) ?? 0));
  return reach(one) < reach(other) || (reach(one) === reach(other) && one.length < other.length);
}

function* inRanges(source: Source, ranges: readonly SeqRange[], limit: number): Steps<readonly number[] | null> {
  const seqs: number[] = [];
  for (const range of ranges) {
    if (seqs.length === limit) break;
    const found = yield* source(range, limit - seqs.length);
    if (found === null) return null;
    for (const seq of found) seqs.push(seq);
  }
  return seqs;
}

function choicesFor({ filter, terms }: Conditions, indexed: number): readonly Choice[] {
  const { id, fingerprint, states, types } = filter;
  const choices: Choice[] = terms.map((term) => withTerm(term, indexed));
  if (id !== undefined) choices.push((sources) => sources.withId(id));
  if (fingerprint !== undefined) choices.push((sources) => sources.ofGroup(fingerprint));
  if (filter.deadReasons !== undefined) choices.push((sources) => sources.putAway('dead'));
  if (filter.ignoredSince !== undefined) choices.push((sources) => sources.putAway('ignored'));
  if (filter.retrying === true) choices.push((sources) => sources.retrying);
  if (filter.conflict === true) choices.push((sources) => sources.withConflict);
  if (filter.redelivered === true) choices.push((sources) => sources.redelivered);
  if (states !== undefined) choices.push((sources) => sources.inStates([...new Set(states)], types));
  return choices;
}

/** What is not in the index of terms yet, and what that has. */
function withTerm(term: Term, indexed: number): Choice {
  return (sources) =>
    function* ({ from, before }, limit) {
      const rest = yield* sources.everything({ from: Math.max(from, indexed + 1), before }, limit);
      if (rest === null) return null;
      const known = yield* sources.withTerm(term)({ from, before: Math.min(before, indexed + 1) }, limit - rest.length);
      return known === null ? null : [...rest, ...known];
    };
}
