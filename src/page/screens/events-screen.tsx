import { ConfigurationError } from '../../errors.ts';
import type { Act as ActName } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/filter.ts';
import type { EventPage, EventSummary } from '../../inbox/operator/search.ts';
import { listEvents } from '../../ops/find.ts';
import { FilterForm } from '../parts/filter-form.tsx';
import { asksForAll, readFilter } from '../parts/filter-query.ts';
import { ActForm } from '../parts/act-form.tsx';
import { number, plural } from '../../ops/words/format.ts';
import { eventHref, eventsHref, filterFields } from '../parts/screen-links.ts';
import { pageOf } from '../parts/older-link.tsx';
import { State } from '../parts/state-badge.tsx';
import { EntityName, StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time-and-age.tsx';
import type { Screen, Visit } from '../visit.ts';

const PAGE = 50;

/** The stored events that fit the filter in the URL, the newest first. */
export async function eventsScreen(visit: Visit): Promise<Screen> {
  const { base, url } = visit;
  const { filter, problems, page } = await findPage(visit);
  return {
    title: 'Events',
    current: '/events',
    content: (
      <>
        <FilterForm action={`${base}/events`} fields={url.searchParams} />
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
        {page !== null && (
          <>
            <ActsOnAll visit={visit} filter={filter} />
            <div id="live">
              <Found page={page} visit={visit} />
              <Onward page={page} visit={visit} />
            </div>
          </>
        )}
      </>
    ),
  };
}

/** With a filter that cannot be read nothing is listed: half a filter would show other events than those asked for. */
async function findPage({ url, now, operated, refusal, signal }: Visit): Promise<{
  readonly filter: EventFilter;
  readonly problems: readonly string[];
  readonly page: EventPage | null;
}> {
  const { filter, problems } = readFilter(url.searchParams, now);
  const refused = refusal?.(filter) ?? null;
  const all = refused === null ? problems : [...problems, refused];
  if (all.length > 0) return { filter, problems: all, page: null };
  try {
    const page = await listEvents(operated.inbox, filter, { before: pageOf(url).before, limit: PAGE, signal });
    return { filter, problems: [], page };
  } catch (failure) {
    // A path of the body that cannot be one, for example.
    if (failure instanceof ConfigurationError) return { filter, problems: [failure.message], page: null };
    throw failure;
  }
}

function Found({ page: { events, next }, visit }: { readonly page: EventPage; readonly visit: Visit }) {
  if (events.length === 0) {
    if (next !== null) return <></>;
    const isFirst = pageOf(visit.url).before === null;
    return (
      <p class="notice" id="none">
        {isFirst ? 'No event fits.' : 'No older event fits.'}
      </p>
    );
  }
  return (
    <table class="list events" id="events">
      <thead>
        <tr>
          <th scope="col">event</th>
          <th scope="col">state</th>
          <th scope="col">about</th>
          <th scope="col">received</th>
          <th scope="col">attempts</th>
          <th scope="col">last error</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <EventRow event={event} visit={visit} />
        ))}
      </tbody>
    </table>
  );
}

function EventRow({ event, visit: { base, now } }: { readonly event: EventSummary; readonly visit: Visit }) {
  const { seq, id, endpoint, type, entity, attempts, redeliveries, conflicts, lastError } = event;
  const href = eventHref(base, event);
  return (
    <tr id={`event-${seq}`} data-href={href}>
      <th scope="row">
        <a href={href}>
          <StoredText text={type ?? 'no readable type'} atMost={80} />
        </a>
        <span class="id">
          <StoredText text={id} atMost={80} />
          {endpoint !== 'default' && (
            <>
              {' '}
              at <StoredText text={endpoint} atMost={40} />
            </>
          )}
        </span>
      </th>
      <td data-label="state">
        <State summary={event} />
      </td>
      <td data-label="about">
        {entity === null ? (
          <span class="muted">–</span>
        ) : (
          <a href={eventsHref(base, { endpoint, entity })}>
            <EntityName name={entity} />
          </a>
        )}
      </td>
      <td data-label="received">
        <Time at={event.receivedAt} now={now} />
        {redeliveries > 0 && <span class="muted"> sent again {plural(redeliveries, 'time')}</span>}
        {conflicts > 0 && <strong> other bytes came</strong>}
      </td>
      <td data-label="attempts">{number(attempts)}</td>
      <td data-label="last error">
        {lastError === null ? (
          <span class="muted">–</span>
        ) : (
          <StoredText text={`${lastError.name}: ${lastError.message}`} atMost={160} />
        )}
      </td>
    </tr>
  );
}

/** To older events; says so when the page ended because it had looked at enough, and not because it was full. */
function Onward({
  page: { events, next, examined },
  visit: { url },
}: {
  readonly page: EventPage;
  readonly visit: Visit;
}) {
  if (next === null) return <></>;
  const query = new URLSearchParams(url.searchParams);
  query.set('before', String(next));
  const cut = events.length < PAGE;
  return (
    <p class={cut ? 'notice pages' : 'pages'} id="older">
      {cut && `Looked at ${plural(examined, 'event')} and found ${number(events.length)} here; there are older ones. `}
      <a href={`?${query.toString()}`} rel="next">
        {cut ? 'Go on looking' : 'Older'}
      </a>
    </p>
  );
}

/** Each leads to a preview, which says how many events they are before anything happens. */
function ActsOnAll({ visit, filter }: { readonly visit: Visit; readonly filter: EventFilter }) {
  const query = new URLSearchParams(filterFields(filter)).toString();
  const all = asksForAll(filter) ? 'all events' : 'all that match';
  if (visit.visitor.role !== 'operator') return <></>;
  return (
    <section class="actions" id="acts" aria-label="What can be done with all of them">
      <BulkForm visit={visit} filter={filter} act="rerun" label={`Rerun ${all}…`} />
      <BulkForm visit={visit} filter={filter} act="discard" label={`Discard ${all}…`} />
      {mayWaitForRetry(filter) && <BulkForm visit={visit} filter={filter} act="hurry" label={`Try ${all} now…`} />}
      {!visit.masks && (
        <a href={`${visit.base}/maintenance/export${query === '' ? '' : `?${query}`}`} download>
          Export {all}
        </a>
      )}
    </section>
  );
}

/** Whether it asks for pending events: elsewhere a button that hurries would be in the way. */
function mayWaitForRetry({ states, retrying }: EventFilter): boolean {
  return retrying ?? states?.includes('pending') ?? false;
}

function BulkForm({
  visit,
  filter,
  act,
  label,
}: {
  readonly visit: Visit;
  readonly filter: EventFilter;
  readonly act: ActName;
  readonly label: string;
}) {
  return (
    <ActForm visit={visit} to="/bulks" label={label}>
      <input type="hidden" name="act" value={act} />
      {filterFields(filter).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit">{label}</button>
      {act === 'rerun' && (
        <label>
          <input type="checkbox" name="force" value="yes" /> ignored and processed ones too
        </label>
      )}
    </ActForm>
  );
}
