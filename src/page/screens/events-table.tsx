import type { SearchOrder, EventSummary } from '../../inbox/operator/search.ts';
import type { Wait } from '../../inbox/rules/waiting.ts';
import { number, plural, relative, shortTime, timestamp } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { eventHref, eventPath, eventsHref } from '../parts/filter-fields.ts';
import { ROWS, orderedQuery } from '../parts/list-query.tsx';
import { ChooseHead, State } from '../parts/list-table.tsx';
import { Listed, listedName, StoredText } from '../parts/stored-text.tsx';
import { WaitInBrief } from '../parts/why-it-waits.tsx';
import type { Visit } from '../visit.ts';

/** What only some events have; a column that none of those shown has anything in is left out. */
const SELDOM: Readonly<Record<string, (event: EventSummary) => boolean>> = {
  endpoint: ({ endpoint }) => endpoint !== 'default',
  waits: ({ state }) => state === 'pending',
  about: ({ entity }) => entity !== null,
  again: ({ redeliveries, conflicts }) => redeliveries > 0 || conflicts > 0,
  attempts: ({ attempts }) => attempts > 0,
  died: ({ state }) => state === 'dead',
  error: ({ lastError }) => lastError !== null,
};

interface TableParts {
  readonly events: readonly EventSummary[];
  /** why those that are pending wait, by their `seq` */
  readonly waits: ReadonlyMap<number, Wait | null>;
  readonly visit: Visit;
  /** `null` where there is no choice */
  readonly order: SearchOrder | null;
}

/** Events, a line for each. Every row has all columns, so that rows which come later fit in. */
export function EventsTable({ events, waits, visit, order }: TableParts) {
  const without = Object.entries(SELDOM).flatMap(([column, has]) => (events.some(has) ? [] : [column]));
  const mayChoose = visit.visitor.role === 'operator';
  return (
    <table class="list events" id="events" data-without={without.join(' ')} data-rows={ROWS}>
      <thead>
        <tr>
          {mayChoose && (
            <th scope="col" data-col="choose">
              <ChooseHead />
            </th>
          )}
          <th scope="col">event</th>
          <th scope="col">id</th>
          <th scope="col" data-col="endpoint">
            endpoint
          </th>
          <th scope="col">state</th>
          <th scope="col" data-col="waits">
            waiting for
          </th>
          <th scope="col" data-col="about">
            entity{' '}
          </th>
          <Sorted name="received" order={order} by={order === 'newest' ? 'oldest' : 'newest'} visit={visit} />
          <th scope="col" data-col="again">
            sent again
          </th>
          <th scope="col" data-col="attempts">
            attempts
          </th>
          <Sorted name="died" order={order} by="failed" visit={visit} />
          <th scope="col" data-col="error">
            last error
          </th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <EventRow event={event} wait={waits.get(event.seq) ?? null} visit={visit} mayChoose={mayChoose} />
        ))}
      </tbody>
    </table>
  );
}

/** The head of a column that the list can be in the order of. */
function Sorted({
  name,
  order,
  by,
  visit,
}: Pick<TableParts, 'order' | 'visit'> & { readonly name: 'received' | 'died'; readonly by: SearchOrder }) {
  const isBy = order !== null && (name === 'died') === (order === 'failed');
  const direction = !isBy ? undefined : order === 'oldest' ? 'ascending' : 'descending';
  const isLink = order !== null && order !== by;
  return (
    <th scope="col" data-col={name} aria-sort={direction}>
      {isLink ? <a href={orderedQuery(visit.url, by)}>{name}</a> : name}
      {direction !== undefined && <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : ' ↓'}</span>}
    </th>
  );
}

function EventRow({
  event,
  wait,
  visit: { base, now },
  mayChoose,
}: {
  readonly event: EventSummary;
  readonly wait: Wait | null;
  readonly visit: Visit;
  readonly mayChoose: boolean;
}) {
  const { seq, id, endpoint, type, entity, attempts, redeliveries, conflicts, settledAt, lastError } = event;
  const href = eventHref(base, event);
  const again = redeliveries > 0 ? plural(redeliveries, 'time') : '';
  return (
    <tr id={`event-${seq}`} data-href={href} data-event={eventPath(event)}>
      {mayChoose && (
        <td data-col="choose">
          <input type="checkbox" name="event" value={eventPath(event)} aria-label={`Select ${oneLine(id)}`} />
        </td>
      )}
      <th scope="row" data-col="event">
        <a href={href} aria-label={type === null ? undefined : listedName(type, 40)}>
          <Listed text={type ?? 'unknown type'} atMost={40} end={10} />
        </a>
      </th>
      <td data-col="id">
        <span class="id">
          <Listed text={id} atMost={22} />
        </span>{' '}
        <button type="button" class="copy" data-copy={id} tabindex={-1} aria-label="Copy the id" hidden>
          Copy
        </button>
      </td>
      <td data-col="endpoint">{endpoint !== 'default' && <Listed text={endpoint} atMost={24} />}</td>
      <td data-col="state">
        <State summary={event} />
      </td>
      <td data-col="waits">
        <WaitInBrief wait={wait} base={base} now={now} />
      </td>
      <td data-col="about">
        {entity !== null && (
          <a href={eventsHref(base, { endpoint, entity })} aria-label={listedName(entity, 20)}>
            <Listed text={entity} atMost={20} />
          </a>
        )}
      </td>
      <td data-col="received">
        <ShortTime at={event.receivedAt} now={now} />
      </td>
      <td data-col="again">
        {again}
        {conflicts > 0 && <strong>{again === '' ? '' : ', '}conflict</strong>}
      </td>
      <td data-col="attempts">{attempts > 0 && number(attempts)}</td>
      <td data-col="died">
        {event.state === 'dead' && settledAt !== null && (
          <time datetime={settledAt.toISOString()} title={timestamp(settledAt)}>
            {shortTime(settledAt, now)}
          </time>
        )}
      </td>
      <td data-col="error">
        {lastError !== null && (
          <span
            class={event.state === 'processed' ? 'muted' : undefined}
            title={oneLine(`${lastError.name}: ${lastError.message}`, 1_000)}
          >
            {/* It is over, and all went well after it. */}
            {event.state === 'processed' && 'before: '}
            <StoredText text={`${lastError.name}: ${lastError.message}`} atMost={160} />
          </span>
        )}
      </td>
    </tr>
  );
}

function ShortTime({ at, now }: { readonly at: Date; readonly now: Date }) {
  const isDated = at.toISOString().slice(0, 10) !== now.toISOString().slice(0, 10);
  return (
    <>
      <time datetime={at.toISOString()} title={timestamp(at)} class={isDated ? 'dated' : undefined}>
        {shortTime(at, now)}
      </time>{' '}
      <span class="muted">({relative(at, now)})</span>
    </>
  );
}
