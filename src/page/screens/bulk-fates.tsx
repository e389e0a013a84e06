import { delay, performance } from '../../host/real-timers.ts';
import type { AnyInbox } from '../../inbox/contract.ts';
import type { Bulk, BulkFate } from '../../inbox/operator/acts.ts';
import { type BulkOutcome, type OutcomeAtFirst, bulkOutcome } from '../../ops/bulks.ts';
import { number, shortTime } from '../../ops/words/format.ts';
import { fateInWords, filterOfFate, outcomeWords, presentFates, type FateWords } from '../../ops/words/act-words.ts';
import { eventsHref } from '../parts/filter-fields.ts';

/** What became of the events of a bulk action, from how they stand now. */
export function Outcome({
  bulk,
  counted: { outcome, isWhole, since, hasFailed },
  base,
  now,
}: {
  readonly bulk: Bulk;
  readonly counted: CountedOutcome;
  readonly base: string;
  readonly now: Date;
}) {
  return (
    <section class="panel" id="outcome">
      <h2>Outcome</h2>
      {outcome === null ? (
        <p>{hasFailed ? 'Counting failed.' : 'Counting…'}</p>
      ) : (
        <Counts bulk={bulk} outcome={outcome} isWhole={isWhole} base={base} />
      )}
      {since !== null && (
        <p class="muted">
          As of {shortTime(since, now)} UTC{hasFailed && '; a later count did not finish'}:{' '}
          <a href={`${base}/bulks/${bulk.id}`}>refresh</a>.
        </p>
      )}
      {!isWhole && (
        <p class="muted">
          {hasFailed ? 'The last count did not finish' : 'Still counting'}:{' '}
          <a href={`${base}/bulks/${bulk.id}`}>refresh</a>.
        </p>
      )}
    </section>
  );
}

function Counts({
  bulk: { id, act },
  outcome,
  isWhole,
  base,
}: {
  readonly bulk: Bulk;
  readonly outcome: BulkOutcome;
  readonly isWhole: boolean;
  readonly base: string;
}) {
  const { counts, acted } = outcome;
  const fates = presentFates(outcome);
  const found = fates.reduce((sum, fate) => sum + counts[fate], 0);
  return (
    <>
      <p class={counts.dead > 0 && act !== 'discard' ? 'warning' : undefined}>
        {isWhole
          ? outcomeWords(act, outcome).map((part) =>
              typeof part === 'string' ? part : <InWords {...part} bulk={id} base={base} />,
            )
          : `${number(found)} of ${number(acted)} counted so far.`}
      </p>
      {!isWhole && (
        <ul>
          {fates.map((fate) => (
            <li>
              <Fate bulk={{ id, act }} fate={fate} count={counts[fate]} base={base} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** A part of the sentence, as a link to the events that it counts. */
function InWords({ fate, text, bulk, base }: FateWords & { readonly bulk: Bulk['id']; readonly base: string }) {
  const filter = filterOfFate(bulk, fate);
  return <span id={`fate-${fate}`}>{filter === null ? text : <a href={eventsHref(base, filter)}>{text}</a>}</span>;
}

interface FateParts {
  readonly bulk: Pick<Bulk, 'id' | 'act'>;
  readonly base: string;
}

/** So many of its events stand so, with the way to them. */
function Fate({
  bulk: { id, act },
  fate,
  count,
  base,
}: FateParts & { readonly fate: BulkFate; readonly count: number }) {
  const filter = filterOfFate(id, fate);
  const words = `${number(count)} ${fateInWords(act, fate)}`;
  return <>{filter === null ? words : <a href={eventsHref(base, filter)}>{words}</a>}</>;
}

/** What became of its events in a few words, for a list of bulks. */
export function OutcomeInShort({ bulk, found, base }: FateParts & { readonly found: OutcomeAtFirst | null }) {
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
          <Fate bulk={bulk} fate={fate} count={outcome.counts[fate]} base={base} />
        </>
      ))}
    </>
  );
}

/** A visitor waits for a count so long; it goes on without them. */
const WAIT_MS = 800;
/** A count that takes longer than this is not repeated for ten times as long as it took. */
const FRESH_MS = 500;
const REST = 10;
/** Of so many bulks of an inbox a count is kept. */
const KEPT = 20;

/** One bulk's count: the last whole one, and the one under way. */
interface Count {
  whole: BulkOutcome | null;
  wholeAt: Date | null;
  hasFailed: boolean;
  soFar: BulkOutcome | null;
  /** on the clock of `performance.now()` */
  freshUntil: number;
  underWay: Promise<void> | null;
}

/** A count as far as it has come. */
interface CountedOutcome {
  /** `null` before the first thousand events were counted */
  readonly outcome: BulkOutcome | null;
  readonly isWhole: boolean;
  /** since when it has stood as a whole, where that was not just now */
  readonly since: Date | null;
  /** the last count came to no end */
  readonly hasFailed: boolean;
}

const counts = new WeakMap<AnyInbox, Map<number, Count>>();

/**
 * What became of the events of a bulk, as far as it is counted: a large one takes longer than somebody should wait for a page,
 * and is not counted once for each of those who look at it.
 */
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
  const ofInbox = counts.get(inbox) ?? new Map<number, Count>();
  counts.set(inbox, ofInbox);
  const count = ofInbox.get(id) ?? {
    whole: null,
    wholeAt: null,
    hasFailed: false,
    soFar: null,
    freshUntil: 0,
    underWay: null,
  };
  // The one that was looked at last stands last.
  ofInbox.delete(id);
  ofInbox.set(id, count);
  for (const oldest of ofInbox.keys()) {
    if (ofInbox.size <= KEPT) break;
    ofInbox.delete(oldest);
  }
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
