import type { Child } from 'hono/jsx';
import type { SearchOrder, EventSummary } from '../../inbox/operator/search.ts';
import { idsIn } from '../../inbox/rules/entity-terms.ts';
import type { Wait } from '../../inbox/rules/waiting.ts';
import { attemptsRun } from '../../ops/words/event-words.ts';
import { number, plural, relative, shortTime, timestamp } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { eventHref, eventPath, eventsHref } from '../parts/filter-fields.ts';
import { ROWS, orderedQuery } from '../parts/list-query.tsx';
import { ChooseHead, State } from '../parts/list-table.tsx';
import { Listed, listedName, StoredText } from '../parts/text.tsx';
import { WaitInBrief } from '../parts/waiting.tsx';
import type { Visit } from '../visit.ts';

/** Columns that the list omits if they are empty for every event shown. */
const SELDOM: Readonly<Record<string, (event: EventSummary) => boolean>> = {
  endpoint: ({ endpoint }) => endpoint !== 'default',
  waits: ({ state }) => state === 'pending',
  about: ({ entity }) => entity !== null,
  again: ({ redeliveries, conflicts }) => redeliveries > 0 || conflicts > 0,
  attempts: (event) => attemptsRun(event) > 0,
  died: ({ state }) => state === 'dead',
  error: ({ lastError }) => lastError !== null,
};

interface TableParts {
  readonly events: readonly EventSummary[];
  readonly waits: ReadonlyMap<number, Wait | null>;
  readonly visit: Visit;
  readonly order: SearchOrder | null;
}

/** Every row has all columns, so that rows that the script adds later fit. */
export function EventsTable({ events, waits, visit, order }: TableParts) {
  const { base, now, visitor } = visit;
  const without = Object.entries(SELDOM).flatMap(([column, has]) => (events.some(has) ? [] : [column]));
  const mayChoose = visitor.role === 'operator';
  const head = (name: string, column = name) => (
    <th scope="col" data-col={column}>
      {name}
    </th>
  );
  return (
    <table class="list events" id="events" data-without={without.join(' ')} data-rows={ROWS}>
      <thead>
        <tr>
          {mayChoose && (
            <th scope="col" data-col="choose">
              <ChooseHead />
            </th>
          )}
          {head('event')}
          {head('id')}
          {head('endpoint', 'endpoint')}
          {head('state')}
          {head('waiting', 'waits')}
          {head('entity ', 'about')}
          {sortedHead('received', order, order === 'newest' ? 'oldest' : 'newest', visit)}
          {head('redelivered', 'again')}
          {head('attempts', 'attempts')}
          {sortedHead('died', order, 'failed', visit)}
          {head('last error', 'error')}
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <tr id={`event-${event.seq}`} data-href={eventHref(base, event)} data-event={eventPath(event)}>
            {mayChoose && (
              <td data-col="choose">
                <input
                  type="checkbox"
                  name="event"
                  value={eventPath(event)}
                  aria-label={`Select ${oneLine(event.id)}`}
                />
              </td>
            )}
            <th scope="row" data-col="event">
              <a
                href={eventHref(base, event)}
                aria-label={event.type === null ? undefined : listedName(event.type, 40)}
              >
                <Listed text={event.type ?? 'unknown type'} atMost={40} end={10} />
              </a>
            </th>
            {Object.entries(cellsOf(event, waits.get(event.seq) ?? null, base, now)).map(([column, cell]) => (
              <td data-col={column}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function sortedHead(name: 'received' | 'died', order: SearchOrder | null, by: SearchOrder, { url }: Visit) {
  const isBy = order !== null && (name === 'died') === (order === 'failed');
  const direction = !isBy ? undefined : order === 'oldest' ? 'ascending' : 'descending';
  return (
    <th scope="col" data-col={name} aria-sort={direction}>
      {order !== null && order !== by ? <a href={orderedQuery(url, by)}>{name}</a> : name}
      {direction !== undefined && <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : ' ↓'}</span>}
    </th>
  );
}

function cellsOf(event: EventSummary, wait: Wait | null, base: string, now: Date): Readonly<Record<string, Child>> {
  const { id, endpoint, state, entity, redeliveries, conflicts, receivedAt, settledAt, lastError } = event;
  const attempts = attemptsRun(event);
  const again = redeliveries > 0 ? plural(redeliveries, 'time') : '';
  const error = lastError === null ? '' : `${lastError.name}: ${lastError.message}`;
  const isDated = receivedAt.toISOString().slice(0, 10) !== now.toISOString().slice(0, 10);
  const time = (at: Date, name?: string) => (
    <time datetime={at.toISOString()} title={timestamp(at)} class={name}>
      {shortTime(at, now)}
    </time>
  );
  return {
    id: (
      <>
        <span class="id">
          <Listed text={id} atMost={30} />
        </span>{' '}
        <button type="button" class="copy" data-copy={id} tabindex={-1} aria-label="Copy the id" hidden>
          Copy
        </button>
      </>
    ),
    endpoint: endpoint !== 'default' && <Listed text={endpoint} atMost={24} />,
    state: <State summary={event} />,
    waits: <WaitInBrief wait={wait} base={base} now={now} />,
    about: entity !== null && <EntityLink href={eventsHref(base, { endpoint, entity })} entity={entity} />,
    received: (
      <>
        {time(receivedAt, isDated ? 'dated' : undefined)} <span class="muted">{relative(receivedAt, now)}</span>
      </>
    ),
    again: (
      <>
        {again}
        {conflicts > 0 && <strong>{again === '' ? '' : ', '}conflict</strong>}
      </>
    ),
    attempts: attempts > 0 && number(attempts),
    died: state === 'dead' && settledAt !== null && time(settledAt),
    error: lastError !== null && (
      <span class={state === 'processed' ? 'muted' : undefined} title={oneLine(error, 1_000)}>
        {state === 'processed' && 'before: '}
        <StoredText text={error} atMost={160} />
      </span>
    ),
  };
}

/** Shows the entity by its own id; the whole name also has the kind and the merchant. */
function EntityLink({ href, entity }: { readonly href: string; readonly entity: string }) {
  const own = idsIn(entity).join(' ');
  const text = own === '' ? entity : own;
  return (
    <a href={href} aria-label={listedName(text, 22)}>
      <Listed text={text} atMost={22} title={entity} />
    </a>
  );
}
