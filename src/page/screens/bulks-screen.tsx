import type { Bulk } from '../../inbox/operator/acts.ts';
import { outcomeAtFirst, type OutcomeAtFirst } from '../../ops/bulk-outcome.ts';
import { listBulks } from '../../ops/bulks.ts';
import { OutcomeInShort } from './outcome-panel.tsx';
import { stateInWords } from '../../ops/words/bulk-words.ts';
import { FilterWords } from '../parts/filter-words.tsx';
import { number } from '../../ops/words/format.ts';
import { pageOf, PageLinks } from '../parts/older-link.tsx';
import { StoredText } from '../parts/stored-text.tsx';
import { oneLine } from '../../printable.ts';
import { Time } from '../parts/time-and-age.tsx';
import type { Screen, Visit } from '../visit.ts';

/** Of each it is counted what became of its events. */
const PAGE = 20;

/** Bulk actions, the newest first. */
export async function bulksScreen(visit: Visit): Promise<Screen> {
  const { before } = pageOf(visit.url);
  const bulks = await listBulks(visit.lasting, { before, limit: PAGE });
  const last = bulks.at(-1);
  const { inbox } = visit.operated;
  const outcomes = new Map(
    await Promise.all(bulks.map(async (bulk) => [bulk.id, await outcomeAtFirst(inbox, bulk)] as const)),
  );
  return {
    title: 'Bulk actions',
    current: '/bulks',
    content: (
      <div id="live">
        {bulks.length === 0 ? (
          <p class="notice" id="none">
            {before === null
              ? 'No bulk actions yet. Start one from a group on the Dead events screen, or from a filter on the Events screen.'
              : 'No older bulk actions.'}
          </p>
        ) : (
          <BulksTable bulks={bulks} outcomes={outcomes} visit={visit} />
        )}
        <PageLinks url={visit.url} next={bulks.length === PAGE ? (last?.id ?? null) : null} />
      </div>
    ),
  };
}

function BulksTable({
  bulks,
  outcomes,
  visit,
}: {
  readonly bulks: readonly Bulk[];
  readonly outcomes: ReadonlyMap<Bulk['id'], OutcomeAtFirst | null>;
  readonly visit: Visit;
}) {
  const { base, now } = visit;
  return (
    <table class="list" id="bulks">
      <thead>
        <tr>
          <th scope="col">action</th>
          <th scope="col">state</th>
          <th scope="col">events</th>
          <th scope="col">outcome</th>
          <th scope="col">filter</th>
          <th scope="col">by</th>
          <th scope="col">reason</th>
          <th scope="col">previewed</th>
        </tr>
      </thead>
      <tbody>
        {bulks.map((bulk) => (
          <tr id={`bulk-${bulk.id}`} data-href={`${base}/bulks/${bulk.id}`}>
            <th scope="row">
              <a href={`${base}/bulks/${bulk.id}`}>
                {bulk.act} {number(bulk.id)}
              </a>
            </th>
            <td data-label="state">{stateInWords(bulk)}</td>
            <td data-label="events">{number(bulk.total)}</td>
            <td data-label="outcome">
              <OutcomeInShort bulk={bulk} found={outcomes.get(bulk.id) ?? null} base={base} />
            </td>
            <td data-label="filter">
              <FilterWords filter={bulk.filter} visit={visit} bulk={bulk.id} />
            </td>
            <td data-label="by">
              <InShort text={bulk.actor} atMost={60} />
            </td>
            <td data-label="reason">
              {bulk.reason === null ? (
                <span class="muted">no reason given</span>
              ) : (
                <InShort text={bulk.reason} atMost={80} />
              )}
            </td>
            <td data-label="previewed">
              <Time at={bulk.createdAt} now={now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Its screen has the whole of it; here it is as long as this also where each character is shown by its number. */
function InShort({ text, atMost }: { readonly text: string; readonly atMost: number }) {
  return <StoredText text={oneLine(text, atMost)} atMost={atMost} />;
}
