import type { Bulk, BulkFate } from '../../inbox/operator/acts.ts';
import type { BulkOutcome, OutcomeAtFirst } from '../../ops/bulk-outcome.ts';
import { number, shortTime } from '../../ops/words/format.ts';
import {
  fateInWords,
  filterOfFate,
  outcomeWords,
  presentFates,
  type FateWords,
} from '../../ops/words/outcome-words.ts';
import { eventsHref } from '../parts/screen-links.ts';
import type { CountedOutcome } from './count-outcome.ts';

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
