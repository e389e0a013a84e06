import type { Bulk } from '../../inbox/operator/acts.ts';
import type { BulkOutcome } from '../../ops/bulk-outcome.ts';
import { number, shortTime } from '../../ops/words/format.ts';
import { fateInWords, filterOfFate, outcomeInWords, presentFates } from '../../ops/words/outcome-words.ts';
import { eventsHref } from '../parts/screen-links.ts';
import type { CountedOutcome } from './count-outcome.ts';

/** What became of the events of a bulk act, from how they stand now. */
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
      <h2>What became of them</h2>
      {outcome === null ? (
        <p>{hasFailed ? 'They could not be counted.' : 'They are being counted.'}</p>
      ) : (
        <Counts bulk={bulk} outcome={outcome} isWhole={isWhole} base={base} />
      )}
      {since !== null && (
        <p class="muted">
          As of {shortTime(since, now)} UTC{hasFailed && '; a later count came to no end'}:{' '}
          <a href={`${base}/bulks/${bulk.id}`}>look again</a>.
        </p>
      )}
      {!isWhole && (
        <p class="muted">
          {hasFailed ? 'The last count came to no end' : 'The count goes on'}:{' '}
          <a href={`${base}/bulks/${bulk.id}`}>look again</a>.
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
        {isWhole ? outcomeInWords(act, outcome) : `${number(found)} of ${number(acted)} are counted so far.`}
      </p>
      <ul>
        {fates.map((fate) => {
          const filter = filterOfFate(id, fate);
          const words = `${number(counts[fate])} ${fateInWords(act, fate)}`;
          return (
            <li id={`fate-${fate}`}>{filter === null ? words : <a href={eventsHref(base, filter)}>{words}</a>}</li>
          );
        })}
      </ul>
    </>
  );
}
