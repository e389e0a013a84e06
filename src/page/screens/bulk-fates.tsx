import { Panel } from '../parts/list-table.tsx';
import { delay, performance } from '../../host/real-timers.ts';
import type { AnyInbox } from '../../inbox/contract.ts';
import type { Bulk, BulkFate } from '../../inbox/operator/acts.ts';
import { type BulkOutcome, type OutcomeAtFirst, bulkOutcome } from '../../ops/bulks.ts';
import { number, shortTime } from '../../ops/words/format.ts';
import { fateInWords, filterOfFate, outcomeWords, presentFates } from '../../ops/words/act-words.ts';
import { eventsHref } from '../parts/filter-fields.ts';

export function outcomePanel(
  { id, act }: Bulk,
  { outcome, isWhole, since, hasFailed }: CountedOutcome,
  base: string,
  now: Date,
) {
  const refresh = <a href={`${base}/bulks/${id}`}>refresh</a>;
  return (
    <Panel id="outcome" title="Outcome">
      {outcome === null ? (
        <p>{hasFailed ? 'Counting failed.' : 'Counting…'}</p>
      ) : (
        <p class={outcome.counts.dead > 0 && act !== 'discard' ? 'warning' : undefined}>
          {isWhole
            ? outcomeWords(act, outcome).map((part) =>
                typeof part === 'string' ? (
                  part
                ) : (
                  <span id={`fate-${part.fate}`}>{linkOf(base, id, part.fate, part.text)}</span>
                ),
              )
            : `${number(foundIn(outcome))} of ${number(outcome.acted)} counted so far.`}
        </p>
      )}
      {outcome !== null && !isWhole && (
        <ul>
          {presentFates(outcome).map((fate) => (
            <li>{linkOf(base, id, fate, `${number(outcome.counts[fate])} ${fateInWords(act, fate)}`)}</li>
          ))}
        </ul>
      )}
      {since !== null && (
        <p class="muted">
          Counted at {shortTime(since, now)} UTC{hasFailed && '; a later count failed'}: {refresh}.
        </p>
      )}
      {!isWhole && (
        <p class="muted">
          {hasFailed ? 'The last count failed' : 'Still counting'}: {refresh}.
        </p>
      )}
    </Panel>
  );
}

function foundIn(outcome: BulkOutcome): number {
  return presentFates(outcome).reduce((sum, fate) => sum + outcome.counts[fate], 0);
}

function linkOf(base: string, bulk: Bulk['id'], fate: BulkFate, text: string) {
  const filter = filterOfFate(bulk, fate);
  return filter === null ? text : <a href={eventsHref(base, filter)}>{text}</a>;
}

export function outcomeInShort({ id, act }: Bulk, found: OutcomeAtFirst | null, base: string) {
  if (found === null) return <span class="muted">not run</span>;
  const { outcome, ofFirst } = found;
  const fates = presentFates(outcome);
  if (outcome.acted === 0) return <span class="muted">nothing done</span>;
  if (fates.length === 0) return <span class="muted">no longer known</span>;
  return (
    <>
      {ofFirst !== null && <span class="muted">of the first {number(ofFirst)}: </span>}
      {fates.map((fate, n) => (
        <>
          {n > 0 && ', '}
          {linkOf(base, id, fate, `${number(outcome.counts[fate])} ${fateInWords(act, fate)}`)}
        </>
      ))}
    </>
  );
}

/** A visitor waits this long for a count. The count continues without them. */
const WAIT_MS = 800;
/** A count that takes longer than this is repeated only after ten times its duration. */
const FRESH_MS = 500;
const REST = 10;
const KEPT = 20;

interface Count {
  whole: BulkOutcome | null;
  wholeAt: Date | null;
  hasFailed: boolean;
  soFar: BulkOutcome | null;
  freshUntil: number;
  underWay: Promise<void> | null;
}

export interface CountedOutcome {
  /** `null` before the first thousand events were counted */
  readonly outcome: BulkOutcome | null;
  readonly isWhole: boolean;
  /** the time of a complete count that was not made just now */
  readonly since: Date | null;
  readonly hasFailed: boolean;
}

const counts = new WeakMap<AnyInbox, Map<number, Count>>();

/** One count serves all visitors, because a large one takes long. */
export async function countedOutcome(inbox: AnyInbox, id: number): Promise<CountedOutcome> {
  const count = countOf(inbox, id);
  const before = count.whole;
  if (count.underWay === null && performance.now() >= count.freshUntil) count.underWay = begin(inbox, id, count);
  if (count.underWay !== null) await Promise.race([count.underWay, delay(WAIT_MS, undefined, { ref: false })]);
  const { whole, soFar, wholeAt, hasFailed } = count;
  if (whole === null) return { outcome: soFar, isWhole: false, since: null, hasFailed };
  return { outcome: whole, isWhole: true, since: whole === before ? wholeAt : null, hasFailed };
}

function countOf(inbox: AnyInbox, id: number): Count {
  const kept = counts.get(inbox) ?? new Map<number, Count>();
  counts.set(inbox, kept);
  const none: Count = { whole: null, wholeAt: null, hasFailed: false, soFar: null, freshUntil: 0, underWay: null };
  const count = kept.get(id) ?? none;
  kept.delete(id); // the newest comes last
  kept.set(id, count);
  const [oldest = id] = kept.keys();
  if (kept.size > KEPT) kept.delete(oldest);
  return count;
}

async function begin(inbox: AnyInbox, id: number, count: Count): Promise<void> {
  const begunAt = performance.now();
  try {
    const begun = new Date();
    count.whole = await bulkOutcome(inbox, id, { onProgress: (soFar) => (count.soFar = soFar) });
    count.wholeAt = begun;
    count.hasFailed = false;
  } catch {
    count.hasFailed = true;
  } finally {
    const took = performance.now() - begunAt;
    count.freshUntil = performance.now() + (took < FRESH_MS ? 0 : REST * took);
    count.underWay = null;
  }
}
