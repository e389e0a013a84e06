import { isFarAhead } from '../../events/instant.ts';
import { isImportedId, type StoredEvent, type EventKey } from '../../inbox/event.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import type { Mark } from '../../inbox/rules/marks.ts';
import type { Operations } from '../../inbox/contract.ts';
import { getEvent, type EventHistory } from '../../ops/find.ts';
import { eventCommand } from '../../processing/endpoint.ts';
import { bytes, number, plural, relative } from '../../ops/words/format.ts';
import { eventHref, eventsHref } from '../parts/filter-fields.ts';
import { Icon } from '../parts/icon.tsx';
import { Facts, State, Panel, type FactList } from '../parts/list-table.tsx';
import { StoredText, Copyable, Time } from '../parts/text.tsx';
import { timelineOf } from './timeline.tsx';
import { oneLine } from '../../printable.ts';
import { WhyItWaits, heldUpWarning } from '../parts/waiting.tsx';
import type { Screen, Visit } from '../visit.ts';
import { attemptsInWords, causeOfDeath } from '../../ops/words/event-words.ts';
import { eventBody } from '../parts/body-views.tsx';
import { operationsOf } from '../../ops/operations-of.ts';
import { actsOn } from './event-acts.tsx';

export async function eventScreen(visit: Visit, key: EventKey): Promise<Screen> {
  const { base, operated } = visit;
  const history = await getEvent(operated.inbox, key);
  if (history === null) {
    return {
      title: 'No such event',
      status: 404,
      current: '/events',
      content: (
        <p class="notice">
          The inbox has no event with the id <StoredText text={key.id} atMost={255} />. Check the endpoint and the id.{' '}
          <a href={`${base}/events`}>All events</a>
        </p>
      ),
    };
  }
  const { summary, event } = history;
  const { state, id, type, endpoint, entity } = summary;
  const operations = operationsOf(operated.inbox);
  const [warning, others, marks] = await Promise.all([
    heldUpWarning(visit, { types: type === null ? [] : [type], endpoints: [endpoint] }),
    entity === null ? [] : operations.search({ endpoint, entity }, { limit: MOST_OTHERS }).then(({ events }) => events),
    releasesUntil(history, operations),
  ]);
  return {
    title: 'Event',
    heading: headingOf(summary),
    tab: `${state}: ${oneLine(id, 60)}${type === null ? '' : `, ${oneLine(type, 40)}`}`,
    current: '/events',
    content: (
      <div class="event">
        <div id="live">
          <div class="about">
            <p class="subject">
              <code>
                <StoredText text={id} />
              </code>{' '}
              <button type="button" class="plain held" data-copy={id} aria-label="Copy the id" hidden>
                <Icon name="copy" />
              </button>
            </p>
            {actsOn(visit, history, warning)}
            {headline(visit, history)}
          </div>
          <Panel id="timeline" title="Timeline">
            {timelineOf(visit.maskLog(history), visit, marks)}
          </Panel>
          <div class="beside">
            <Panel id="facts" title="Details">
              <Facts facts={factsOf(visit, history)} />
              <Copyable text={eventCommand('show', summary, visit.named)} />
            </Panel>
            {entity !== null && othersOf(visit, { ...summary, entity }, others)}
          </div>
        </div>
        {!visit.liveOnly && eventBody(visit, event, eventHref(base, key))}
      </div>
    ),
  };
}

function headingOf(summary: EventSummary) {
  const { type, entity } = summary;
  return (
    <>
      {type === null ? 'Event' : <StoredText text={type} atMost={60} />}
      {entity !== null && (
        <>
          <span class="muted"> · </span>
          <StoredText text={ownName(entity)} atMost={60} />
        </>
      )}
      <span class="muted"> · </span>
      <State summary={summary} />
    </>
  );
}

/** The last part of `order:mer_7:ord_42` is the order. */
function ownName(entity: string): string {
  return entity.slice(entity.lastIndexOf(':') + 1) || entity;
}

const MOST_OTHERS = 12;

function othersOf(
  { base, now }: Visit,
  { seq, endpoint, entity }: EventSummary & { readonly entity: string },
  others: readonly EventSummary[],
) {
  return (
    <Panel
      id="others"
      title={
        <>
          Events of <StoredText text={ownName(entity)} atMost={40} />
        </>
      }
    >
      <ul class="others">
        {others.map((other) => (
          <li>
            <a href={eventHref(base, other)} aria-current={other.seq === seq ? 'true' : undefined}>
              <span>{other.type === null ? <StoredText text={other.id} /> : <StoredText text={other.type} />}</span>
              <time datetime={other.receivedAt.toISOString()}>{relative(other.receivedAt, now)}</time>
              <State summary={other} />
            </a>
          </li>
        ))}
      </ul>
      <p>
        <a href={eventsHref(base, { endpoint, entity })}>All its events</a>
      </p>
    </Panel>
  );
}

/** The releases that were in use before the last attempt. */
async function releasesUntil(
  { attempts, summary: { endpoint } }: EventHistory,
  operations: Pick<Operations, 'marks'>,
): Promise<readonly Mark[]> {
  const last = attempts.at(-1);
  if (last === undefined) return [];
  const marks = await operations.marks(0, last.startedAt.getTime() + 1);
  return marks.filter((mark) => mark.kind === 'release' && (mark.endpoint === endpoint || mark.endpoint === '*'));
}

function headline({ base, now, visitor }: Visit, { summary, wait }: EventHistory) {
  const { state, deadReason, lastError, lastOutcome } = summary;
  const isSuperseded = state === 'processed' && lastOutcome === 'superseded';
  return (
    <p id="headline" class={state === 'dead' ? 'warning headline' : 'notice headline'}>
      {state === 'dead'
        ? `No handler runs for it unless ${visitor.role === 'operator' ? 'you rerun it' : 'an operator reruns it'}:`
        : isSuperseded
          ? 'Its handler did not run, because a newer event was waiting.'
          : STANDING[state]}
      {wait !== null && (
        <>
          {' '}
          <WhyItWaits event={summary} wait={wait} base={base} now={now} />.
        </>
      )}
      {state === 'dead' && deadReason !== null && (
        <>
          {' '}
          <strong>
            <StoredText text={causeOfDeath({ sample: lastError, reason: deadReason })} atMost={500} />
          </strong>
        </>
      )}
    </p>
  );
}

const STANDING = {
  pending: 'It',
  processing: 'Its handler is running. It',
  processed: 'Its handler succeeded.',
  ignored: 'No handler will run: it',
  discarded: 'No handler will run: it',
} as const satisfies Record<Exclude<EventSummary['state'], 'dead'>, string>;

function factsOf({ base, now }: Visit, { summary, event }: EventHistory): FactList {
  const { type, endpoint, entity, fingerprint, redeliveries, conflicts, settledAt } = summary;
  const unknown = <span class="muted">unknown</span>;
  return [
    [
      'type',
      type === null ? (
        unknown
      ) : (
        <a href={eventsHref(base, { types: [type] })}>
          <StoredText text={type} />
        </a>
      ),
    ],
    ['entity', entity === null ? <span class="muted">none</span> : <StoredText text={entity} />],
    ['endpoint', <StoredText text={endpoint} />],
    [
      'created',
      event.created === null ? (
        unknown
      ) : (
        <>
          <Time at={new Date(event.created.ms)} now={now} />
          {isFarAhead(event.created, (settledAt ?? now).getTime()) &&
            ', more than a day in the future, so it does not supersede older events'}
        </>
      ),
    ],
    ['received', <Time at={summary.receivedAt} now={now} />],
    settledAt !== null && ['settled', <Time at={settledAt} now={now} />],
    ['attempts', attemptsInWords(summary)],
    [
      'redelivered',
      (redeliveries === 0 ? 'never' : plural(redeliveries, 'time')) +
        (conflicts > 0 ? `; ${number(conflicts)} with a different body (conflicts)` : ''),
    ],
    ['signature', summary.verified ? 'verified' : 'not verified'],
    ['body', event.body === null ? bodyGone(event) : bytes(event.body.byteLength)],
    fingerprint !== null && [
      'group',
      <a href={eventsHref(base, { states: ['dead'], fingerprint })}>dead events with the same error</a>,
    ],
  ];
}

function bodyGone(event: StoredEvent): string {
  if (isImportedId(event)) return 'unknown: other code handled the event, and only its id was imported';
  return 'pruned: only a tombstone is left';
}
