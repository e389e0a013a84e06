import type { Act } from '../../inbox/operator/acts.ts';
import type { EventCount } from '../../inbox/operator/search.ts';
import { type Suggestion, type TextReading, filterFor, ALSO_BEGINS, TAKEN_FOR } from '../../ops/find-by-text.ts';
import type { ActedOn } from '../../ops/words/act-words.ts';
import { number, percent, plural } from '../../ops/words/format.ts';
import { filterFields, eventsHref } from '../parts/filter-fields.ts';
import { FilterForm } from '../parts/filter-form.tsx';
import { beginningQuery, furtherQuery, BackLink } from '../parts/list-query.tsx';
import { Shortened } from '../parts/stored-text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { EventsTable } from './events-table.tsx';
import { ActsOnAll, ActsOnChosen, actedOn } from './list-acts.tsx';
import { findListing, type Listed, type Listing } from './listing.ts';

/** The stored events that fit the filter in the URL or the text of the search box, a page of them. */
export async function eventsScreen(visit: Visit): Promise<Screen> {
  const { base, url } = visit;
  const listing = await findListing(visit);
  const { filter, reading, problems, listed } = listing;
  const acts = await actsOn(listing, visit);
  const fields = reading === null ? url.searchParams : new URLSearchParams(filterFields(filter));
  return {
    title: 'Events',
    current: '/events',
    content: (
      <>
        <FilterForm
          action={`${base}/events`}
          fields={fields}
          filter={filter}
          visit={visit}
          isOpen={problems.length > 0}
        />
        {problems.length > 0 && (
          <div class="warning" role="alert" id="problems">
            <ul>
              {problems.map((problem) => (
                <li>
                  <bdi>{problem}</bdi>
                </li>
              ))}
            </ul>
          </div>
        )}
        {reading !== null && <TakenFor reading={reading} visit={visit} />}
        {listed !== null && (
          <>
            {acts !== null && <ActsOnAll visit={visit} filter={filter} actedOn={acts} />}
            <div id="live" data-list>
              <Tally count={listed.count} />
              <Found listing={listing} listed={listed} visit={visit} />
              {listing.isFurther && <BackLink href={beginningQuery(url)} />}
              <Onward listed={listed} visit={visit} />
            </div>
          </>
        )}
      </>
    ),
  };
}

/** The events that each action on all matches would change; `null` if the page offers no action, or nothing matches. */
async function actsOn(listing: Listing, visit: Visit): Promise<Readonly<Record<Act, ActedOn>> | null> {
  const { listed, isFurther, isNoneYet } = listing;
  const isNone = listed?.events.length === 0 && listed.next === null && (!isFurther || isNoneYet);
  // It stands beside what is brought up to date.
  if (listed === null || isNone || visit.visitor.role !== 'operator' || visit.liveOnly === true) return null;
  const [rerun, discard, retryNow] = await Promise.all([
    actedOn('rerun', listing, visit),
    actedOn('discard', listing, visit),
    actedOn('retry-now', listing, visit),
  ]);
  return { rerun, discard, 'retry-now': retryNow };
}

/** How many there are, and room for what the script says of new ones: nothing below it moves. */
function Tally({ count }: { readonly count: EventCount | null }) {
  return (
    <p class="tally" id="tally">
      <span id="count">{count === null || count.count === 0 ? '' : counted(count)}</span>{' '}
      <span id="new-rows" role="status" />
    </p>
  );
}

function counted({ count, more, cut }: EventCount): string {
  if (more) return `more than ${plural(count, 'event')}`;
  return cut ? `at least ${plural(count, 'event')}` : plural(count, 'event');
}

function Found({
  listing: { reading, order, isFurther, isNoneYet },
  listed: { events, waits, next, suggestions },
  visit,
}: {
  readonly listing: Listing;
  readonly listed: Listed;
  readonly visit: Visit;
}) {
  if (events.length === 0) {
    if (next !== null) return <></>;
    return (
      <div class="notice" id="none">
        <NothingFits reading={reading} suggestions={suggestions} isFurther={isFurther && !isNoneYet} visit={visit} />
      </div>
    );
  }
  return (
    <ActsOnChosen visit={visit} mayRetryNow={events.some(({ state, failures }) => state === 'pending' && failures > 0)}>
      <EventsTable events={events} waits={waits} visit={visit} order={reading === null ? order : null} />
    </ActsOnChosen>
  );
}

/**
 * To what comes next; says so when the page ended because it had looked at enough, and not because it was full. Then the script
 * goes on by itself.
 */
function Onward({
  listed: { events, next, nextAt, examined, looked, limit },
  visit: { url },
}: {
  readonly listed: Listed;
  readonly visit: Visit;
}) {
  const query = furtherQuery(url, { events, next, ...(nextAt !== undefined && { nextAt }) });
  if (query === null) return <></>;
  const cut = events.length < limit;
  return (
    <p
      class={cut ? 'notice pages' : 'pages'}
      id="older"
      data-examined={cut ? examined : undefined}
      data-looked={looked}
    >
      {cut && (
        <span id="looked">
          {`${plural(examined, 'event')} searched, ${number(events.length)} found` +
            `${looked === null ? '' : ` (${percent(looked)} of the inbox searched)`}. `}
        </span>
      )}
      <a href={query} rel="next">
        {cut ? 'Search further' : 'Next'}
      </a>
    </p>
  );
}

/** What the text of the search box was taken for, what finds the same, and what else begins so. */
function TakenFor({ reading, visit }: { readonly reading: TextReading; readonly visit: Visit }) {
  const { takenFor, name, others } = reading;
  return (
    <p class="taken" id="taken">
      Searched as {TAKEN_FOR[takenFor]}:{' '}
      <strong>
        <Shortened text={name} atMost={60} />
      </strong>
      , failed events first.{' '}
      {takenFor !== 'text' && <a href={eventsHref(visit.base, { text: name })}>Search for it as text</a>}
      {others.length > 0 && (
        <span class="others">
          {' '}
          {ALSO_BEGINS} <Names names={others} visit={visit} />
        </span>
      )}
    </p>
  );
}

function Names({ names, visit }: { readonly names: readonly Suggestion[]; readonly visit: Visit }) {
  return (
    <>
      {names.map((one, n) => (
        <>
          {n > 0 && ', '}
          <a href={eventsHref(visit.base, filterFor(one))}>
            <Shortened text={one.name} atMost={40} />
          </a>
        </>
      ))}
    </>
  );
}

/** Why there may be nothing, and what may have been meant. */
function NothingFits({
  reading,
  suggestions,
  isFurther,
  visit,
}: {
  readonly reading: TextReading | null;
  readonly suggestions: readonly Suggestion[];
  readonly isFurther: boolean;
  readonly visit: Visit;
}) {
  if (reading === null) return <p>{isFurther ? 'No older events found.' : 'No events found.'}</p>;
  return (
    <>
      <p>
        {isFurther ? 'No older event has this text.' : 'No event has this text in its id, type, entity or last error.'}
      </p>
      {suggestions.length > 0 && (
        <p id="suggestions">
          Did you mean <Names names={suggestions} visit={visit} />?
        </p>
      )}
      <p class="muted">
        The search box does not search bodies; <a href={`${visit.base}/events#filters`}>the filter</a> does. Erased
        events are found only by their id.
      </p>
    </>
  );
}
