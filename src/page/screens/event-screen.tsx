import { isFarAhead } from '../../events/instant.ts';
import type { Child, PropsWithChildren } from 'hono/jsx';
import { isImportedId, type StoredEvent, type EventKey } from '../../inbox/event.ts';
import type { Act as ActName } from '../../inbox/operator/acts.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { askedByKey, mayBeDone, summaryAt } from '../../inbox/rules/decide-act.ts';
import { getEvent, type EventHistory } from '../../ops/find.ts';
import { eventCommand } from '../../processing/endpoint.ts';
import { bytes, number, plural } from '../../ops/words/format.ts';
import { eventHref, eventsHref, pauseHref } from '../parts/filter-fields.ts';
import { Facts, State, Panel, type FactList } from '../parts/list-table.tsx';
import { StoredText, Copyable, Time } from '../parts/text.tsx';
import { timelineOf } from './timeline.tsx';
import { oneLine } from '../../printable.ts';
import { WhyItWaits, heldUpWarning } from '../parts/waiting.tsx';
import type { Screen, Visit } from '../visit.ts';
import { causeOfDeath } from '../../ops/words/event-words.ts';
import { eventBody } from '../parts/body-views.tsx';
import { ActForm, ReasonField } from '../parts/form-fields.tsx';

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
          The inbox has no event with the id <StoredText text={key.id} atMost={255} />.{' '}
          <a href={`${base}/events`}>All events</a>
        </p>
      ),
    };
  }
  const { summary, event } = history;
  const { state, id, type, endpoint } = summary;
  const warning = await heldUpWarning(visit, { types: type === null ? [] : [type], endpoints: [endpoint] });
  return {
    title: 'Event',
    tab: `${state}: ${oneLine(id, 60)}${type === null ? '' : `, ${oneLine(type, 40)}`}`,
    current: '/events',
    content: (
      <>
        <p class="subject">
          <code>
            <StoredText text={id} />
          </code>
        </p>
        <div id="live">
          {headline(visit, history)}
          {actsOn(visit, summary, warning)}
          <div class="columns" id="about">
            <Panel id="facts" title="Details">
              <Facts facts={factsOf(visit, history)} />
            </Panel>
            <Panel id="timeline" title="History">
              {timelineOf(visit.maskLog(history), visit)}
            </Panel>
          </div>
        </div>
        {!visit.liveOnly && eventBody(visit, event, eventHref(base, key))}
      </>
    ),
  };
}

function headline({ base, now, visitor }: Visit, { summary, wait }: EventHistory) {
  const { state, deadReason, lastError } = summary;
  return (
    <p id="headline" class={state === 'dead' ? 'warning headline' : 'notice headline'}>
      <State summary={summary} />{' '}
      {state === 'dead'
        ? `No handler runs for it unless ${visitor.role === 'operator' ? 'you rerun it' : 'an operator reruns it'}:`
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

function factsOf({ base, now, visitor }: Visit, { summary, event }: EventHistory): FactList {
  const { type, endpoint, entity, fingerprint, attempts, failures, redeliveries, conflicts, settledAt } = summary;
  const unknown = <span class="muted">unknown</span>;
  return [
    [
      'type',
      type === null ? (
        unknown
      ) : (
        <>
          <a href={eventsHref(base, { types: [type] })}>
            <StoredText text={type} />
          </a>{' '}
          {visitor.role === 'operator' && <a href={pauseHref(base, endpoint, type)}>pause</a>}
        </>
      ),
    ],
    [
      'entity',
      entity === null ? (
        <span class="muted">none</span>
      ) : (
        <>
          <StoredText text={entity} /> <a href={eventsHref(base, { endpoint, entity })}>all its events</a>
        </>
      ),
    ],
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
    [
      'attempts',
      number(attempts) + (failures > 0 ? `; ${number(failures)} failed since the event was stored or last rerun` : ''),
    ],
    [
      'redelivered',
      (redeliveries === 0 ? 'never' : plural(redeliveries, 'time')) +
        (conflicts > 0 ? `; ${number(conflicts)} with a different body (conflicts)` : ''),
    ],
    ['signature', summary.verified ? 'verified' : 'not checked'],
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

const INVALID = 'hookbox parses the body again with the current schemas. If the body fits, the event becomes';
const INVALID_RERUN =
  `${INVALID} pending, and its handler runs unless a schema of your own rejects the data. If not, the event stays dead ` +
  '(invalid).';
const INVALID_DISCARD = `${INVALID} discarded, and no handler runs. If not, the event stays dead (invalid) until you prune or erase it.`;

function actsOn(visit: Visit, summary: EventSummary, warning: Child) {
  const { state, pruned, deadReason } = summary;
  const isOperator = visit.visitor.role === 'operator';
  const again = state === 'processed';
  const may = (act: ActName, event = summary): boolean => isOperator && mayBeDone(askedByKey(act, again), event);
  const shared = { visit, summary };
  return (
    <section class="panel acts" id="acts" aria-label="Actions">
      {may('rerun') && (
        <Act
          {...shared}
          act="rerun"
          title={again ? 'Rerun again…' : 'Rerun…'}
          button={again ? 'Rerun this processed event' : 'Rerun this event'}
          force={again}
          warning={warning}
        >
          {again
            ? 'The handler already succeeded and will run again. Make sure that its effects can safely happen twice.'
            : deadReason === 'invalid'
              ? INVALID_RERUN
              : 'The event becomes pending, and its handler runs again. The history is kept.'}
        </Act>
      )}
      {may('retry-now', summaryAt(summary, visit.now)) && (
        <Act {...shared} act="retry-now" title="Retry now…" button="Retry this event now" warning={warning}>
          The event becomes due now, but still waits for older events of its entity. Its failures still count.
        </Act>
      )}
      {may('discard') && (
        <Act {...shared} act="discard" title="Discard…" button="Discard this event">
          {deadReason === 'invalid'
            ? INVALID_DISCARD
            : 'The event becomes discarded, and no handler runs. You can rerun it later.'}
        </Act>
      )}
      {isOperator && pruned && <p class="muted">The body was pruned, so the event cannot be rerun.</p>}
      <Copyable text={eventCommand('show', summary, visit.named)} />
    </section>
  );
}

type ActParts = PropsWithChildren<{
  readonly visit: Visit;
  readonly summary: EventSummary;
  readonly act: ActName;
  readonly title: string;
  readonly button: string;
  readonly force?: boolean;
  readonly warning?: Child;
}>;

/** Opened by a click or a key, then confirmed by a button. */
function Act({ visit, summary, act, title, button, force = false, warning, children }: ActParts) {
  return (
    // An update must not change a form that somebody fills in.
    <details class="act" id={force ? 'rerun-again' : act}>
      <summary>{title}</summary>
      <p>{children}</p>
      {warning}
      <ActForm
        visit={visit}
        to={`${eventHref('', summary)}/${act}`}
        label={button}
        hidden={[['state', summary.state], ['attempts', String(summary.attempts)], ...(force ? [['force', 'yes'] as const] : [])]}
      >
        <ReasonField isRequired={act === 'discard' || force} />
        <button type="submit" class={act === 'discard' ? undefined : 'primary'}>
          {button}
        </button>
      </ActForm>
      <Copyable text={eventCommand(act, summary, { ...visit.named, force })} />
    </details>
  );
}
