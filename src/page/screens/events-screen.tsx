import type { EventCount, EventFilter } from '../../inbox/operator/search.ts';
import { type Suggestion, type TextReading, filterFor, ALSO_BEGINS, TAKEN_FOR } from '../../ops/find-by-text.ts';
import { number, percent, plural } from '../../ops/words/format.ts';
import { asksForAll, filterFields, eventsHref } from '../parts/filter-fields.ts';
import { filterForm } from '../parts/filter-form.tsx';
import { Icon } from '../parts/icon.tsx';
import { FilterChips, StateChips } from '../parts/query-chips.tsx';
import { beginningQuery, furtherQuery, BackLink } from '../parts/list-query.tsx';
import { Shortened } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { EventsTable } from './events-table.tsx';
import { type ActsOnAll, actsOnAll, actsOnChosen, actsOnList } from './list-acts.tsx';
import { givenFields, lineOf } from './search-line.ts';
import { findListing, type Listed, type Listing } from './listing.ts';

export async function eventsScreen(visit: Visit): Promise<Screen> {
  const { base, url } = visit;
  const listing = await findListing(visit);
  const { filter, reading, problems, listed } = listing;
  const acts = await actsOn(listing, visit);
  const fields = reading === null ? givenFields(url) : filterFields(filter);
  return {
    title: 'Events',
    current: '/events',
    sought: lineOf(url),
    content: (
      <>
        <div class="toolbar">
          <StateChips visit={visit} fields={fields} filter={filter} isRefused={listed === null} />
          {filterForm(visit, fields)}
          <details class="menu held" id="views" data-views={base} hidden>
            <summary>
              <Icon name="views" />
              Views
              <Icon name="down" />
            </summary>
            <div class="sheet" />
          </details>
        </div>
        <FilterChips visit={visit} fields={fields} filter={filter} />
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
        {reading !== null && takenFor(reading, base, listed?.events.length === 0 && listed.next === null)}
        {listed !== null && (
          <>
            {acts !== null && actsOnAll(visit, filter, acts)}
            <div id="live" data-list>
              {/* Room for the script's button for new events, so that nothing moves. */}
              <p class="tally" id="tally">
                <span id="count">{counted(listed.count)}</span> <span id="new-rows" role="status" />
              </p>
              {found(listing, listed, visit)}
              {listing.isFurther && <BackLink href={beginningQuery(url)} />}
              {onward(listed, url)}
            </div>
          </>
        )}
      </>
    ),
  };
}

/** `null` if the page offers no action, or no event matches. */
async function actsOn(listing: Listing, visit: Visit): Promise<ActsOnAll | null> {
  const { listed, isFurther, isNoneYet } = listing;
  const isNone = listed?.events.length === 0 && listed.next === null && (!isFurther || isNoneYet);
  // The actions are outside of `#live`.
  if (listed === null || isNone || visit.visitor.role !== 'operator' || visit.liveOnly) return null;
  return actsOnList(listing, visit);
}

function counted(found: EventCount | null): string {
  if (found === null || found.count === 0) return '';
  const events = plural(found.count, 'event');
  if (found.more) return `more than ${events}`;
  return found.cut ? `at least ${events}` : events;
}

function found(
  { reading, filter, order, isFurther, isNoneYet }: Listing,
  { events, waits, next, suggestions }: Listed,
  visit: Visit,
) {
  if (events.length > 0) {
    const table = { events, waits, visit, order: reading === null ? order : null };
    return actsOnChosen(visit, events, <EventsTable {...table} />);
  }
  if (next !== null) return <></>;
  return (
    <div class="notice" id="none">
      {nothingFits(reading, suggestions, isFurther && !isNoneYet, filter, visit.base)}
    </div>
  );
}

/** If the search stopped before the page was full, the script continues. */
function onward({ events, next, nextAt, examined, looked, limit }: Listed, url: URL) {
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
        {cut ? 'Search further' : 'Next page'}
      </a>
    </p>
  );
}

function takenFor({ takenFor: taken, name, others }: TextReading, base: string, isNone: boolean) {
  return (
    <p class="taken" id="taken">
      Searched as {TAKEN_FOR[taken]}:{' '}
      <strong>
        <Shortened text={name} atMost={60} />
      </strong>
      , failed events first. {taken !== 'text' && <a href={eventsHref(base, { text: name })}>Search for it as text</a>}
      {taken !== 'text' && !isNone && ' · '}
      {!isNone && <a href={eventsHref(base, { bodyText: name })}>Search bodies for it</a>}
      {others.length > 0 && (
        <span class="others">
          {' '}
          {ALSO_BEGINS} {namesOf(others, base)}
        </span>
      )}
    </p>
  );
}

function namesOf(names: readonly Suggestion[], base: string) {
  return names.map((one, n) => (
    <>
      {n > 0 && ', '}
      <a href={eventsHref(base, filterFor(one))}>
        <Shortened text={one.name} atMost={40} />
      </a>
    </>
  ));
}

function nothingFits(
  reading: TextReading | null,
  suggestions: readonly Suggestion[],
  isFurther: boolean,
  filter: EventFilter,
  base: string,
) {
  if (reading === null && isFurther) return <p>No older events found.</p>;
  if (reading === null && asksForAll(filter)) {
    return (
      <p>
        The inbox has no events. <a href={base === '' ? '/' : base}>See the overview</a>
      </p>
    );
  }
  if (reading === null) {
    const isPast = filter.retrying === true && (filter.failedSince ?? filter.failedUntil) !== undefined;
    return (
      <p>
        {isPast
          ? 'No event that failed in this period is still waiting for a retry.'
          : 'No events match these filters.'}{' '}
        <a href={`${base}/events`}>Clear filters</a>
      </p>
    );
  }
  return (
    <>
      <p>
        {isFurther ? 'No older event has this text.' : 'No event has this text in its id, type, entity or last error.'}
      </p>
      {suggestions.length > 0 && <p id="suggestions">Did you mean {namesOf(suggestions, base)}?</p>}
      <p>
        <a class="button" href={eventsHref(base, { bodyText: reading.name })}>
          <Icon name="search" />
          <span>
            Search bodies for “<Shortened text={reading.name} atMost={40} />”
          </span>
        </a>
      </p>
      <p class="muted">Erased events are found only by their id.</p>
    </>
  );
}
