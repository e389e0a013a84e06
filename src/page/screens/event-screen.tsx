import { isFarAhead } from '../../events/instant.ts';
import type { Child } from 'hono/jsx';
import { isImportedId, type StoredEvent, type EventKey } from '../../inbox/event.ts';
import type { Act as ActName } from '../../inbox/operator/acts.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { askedByKey, mayBeDone, summaryAt } from '../../inbox/rules/decide-act.ts';
import { getEvent, type EventHistory } from '../../ops/find.ts';
import { eventCommand } from '../../processing/endpoint.ts';
import { ActForm, heldUpWarning, Copyable, ReasonField } from '../parts/act-form.tsx';
import { bytes, number, plural } from '../../ops/words/format.ts';
import { eventHref, eventsHref, pauseHref } from '../parts/filter-fields.ts';
import { State } from '../parts/list-table.tsx';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time.tsx';
import { Timeline } from './timeline.tsx';
import { oneLine } from '../../printable.ts';
import { WhyItWaits } from '../parts/why-it-waits.tsx';
import type { Screen, Visit } from '../visit.ts';
import { causeOfDeath } from '../../ops/words/event-words.ts';
import { EventBody } from '../parts/body-views.tsx';

/** One event: how it stands, what has happened to it, what is in it, and what can be done. */
export async function eventScreen(visit: Visit, key: EventKey): Promise<Screen> {
  const history = await getEvent(visit.operated.inbox, key);
  if (history === null) return noSuchEvent(visit, key);
  const href = eventHref(visit.base, key);
  const { summary } = history;
  const types = summary.type === null ? [] : [summary.type];
  const warning = await heldUpWarning(visit, { types, endpoints: [summary.endpoint] });
  return {
    title: 'Event',
    tab: eventTab(summary),
    current: '/events',
    content: (
      <>
        <p class="subject">
          <code>
            <StoredText text={summary.id} />
          </code>
        </p>
        <div id="live">
          <Headline visit={visit} history={history} />
          <Acts visit={visit} history={history} warning={warning} />
          <div class="columns" id="about">
            <Facts visit={visit} history={history} />
            <section class="panel" id="timeline">
              <h2>History</h2>
              <Timeline history={history} visit={visit} />
            </section>
          </div>
        </div>
        {visit.liveOnly !== true && <EventBody visit={visit} event={history.event} href={href} />}
      </>
    ),
  };
}

function noSuchEvent({ base }: Visit, { id }: EventKey): Screen {
  return {
    title: 'No such event',
    status: 404,
    current: '/events',
    content: (
      <p class="notice">
        The inbox has no event with the id <StoredText text={id} atMost={255} />.{' '}
        <a href={`${base}/events`}>All events</a>
      </p>
    ),
  };
}

/** How it stands, in a sentence. */
function Headline({
  visit: { base, now, visitor },
  history: { summary, wait },
}: {
  readonly visit: Visit;
  readonly history: EventHistory;
}) {
  const { state, deadReason, lastError } = summary;
  const isOperator = visitor.role === 'operator';
  return (
    <p id="headline" class={state === 'dead' ? 'warning headline' : 'notice headline'}>
      <State summary={summary} />{' '}
      {state === 'dead'
        ? `No handler runs for it unless ${isOperator ? 'you rerun it' : 'an operator reruns it'}:`
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

function Facts({
  visit: { base, now, visitor },
  history: { summary, event },
}: {
  readonly visit: Visit;
  readonly history: EventHistory;
}) {
  const { type, endpoint, entity, fingerprint, attempts, failures, redeliveries, conflicts, settledAt } = summary;
  return (
    <section class="panel" id="facts">
      <h2>Details</h2>
      <dl class="facts">
        <Fact name="type">
          {type === null ? (
            <span class="muted">unknown</span>
          ) : (
            <>
              <a href={eventsHref(base, { types: [type] })}>
                <StoredText text={type} />
              </a>{' '}
              {visitor.role === 'operator' && <a href={pauseHref(base, endpoint, type)}>pause</a>}
            </>
          )}
        </Fact>
        <Fact name="entity">
          {entity === null ? (
            <span class="muted">none</span>
          ) : (
            <>
              <StoredText text={entity} /> <a href={eventsHref(base, { endpoint, entity })}>all its events</a>
            </>
          )}
        </Fact>
        <Fact name="endpoint">
          <StoredText text={endpoint} />
        </Fact>
        <Fact name="created">
          {event.created === null ? (
            <span class="muted">unknown</span>
          ) : (
            <>
              <Time at={new Date(event.created.ms)} now={now} />
              {isFarAhead(event.created, (settledAt ?? now).getTime()) &&
                ', more than a day in the future, so it does not supersede older events'}
            </>
          )}
        </Fact>
        <Fact name="received">
          <Time at={summary.receivedAt} now={now} />
        </Fact>
        {settledAt !== null && (
          <Fact name="settled">
            <Time at={settledAt} now={now} />
          </Fact>
        )}
        <Fact name="attempts">
          {number(attempts)}
          {failures > 0 && `; ${number(failures)} failed since the event was stored or last rerun`}
        </Fact>
        <Fact name="redelivered">
          {redeliveries === 0 ? 'never' : plural(redeliveries, 'time')}
          {conflicts > 0 && `; ${number(conflicts)} with a different body (conflicts)`}
        </Fact>
        <Fact name="signature">{summary.verified ? 'verified' : 'not checked'}</Fact>
        <Fact name="body">{event.body === null ? bodyGone(event) : bytes(event.body.byteLength)}</Fact>
        {fingerprint !== null && (
          <Fact name="group">
            <a href={eventsHref(base, { states: ['dead'], fingerprint })}>dead events with the same error</a>
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const INVALID_RERUN =
  'hookbox parses the body again with the current schemas. If the body fits, the event becomes pending, and its ' +
  'handler runs unless a schema of your own rejects the data. If not, the event stays dead (invalid).';
const INVALID_DISCARD =
  'hookbox parses the body again with the current schemas. If the body fits, the event becomes discarded, and no ' +
  'handler runs. If not, the event stays dead (invalid) until you prune or erase it.';

/** `dead: evt_1, order.created`: what somebody with ten tabs looks for. */
function eventTab({ state, id, type }: EventSummary): string {
  return `${state}: ${oneLine(id, 60)}${type === null ? '' : `, ${oneLine(type, 40)}`}`;
}

/** What operators can do, as buttons and as commands; viewers are offered what reads. */
function Acts({
  visit,
  history: { summary },
  warning,
}: {
  readonly visit: Visit;
  readonly history: EventHistory;
  /** about events that are rerun or retried now */
  readonly warning: Child;
}) {
  const { state, pruned } = summary;
  const isOperator = visit.visitor.role === 'operator';
  const again = state === 'processed';
  const mayRerun = isOperator && mayBeDone(askedByKey('rerun', again), summary);
  const mayRetryNow = isOperator && mayBeDone(askedByKey('retry-now', false), summaryAt(summary, visit.now));
  const mayDiscard = isOperator && mayBeDone(askedByKey('discard', false), summary);
  return (
    <section class="panel acts" id="acts" aria-label="Actions">
      {mayRerun && (
        <Act
          visit={visit}
          summary={summary}
          act="rerun"
          title={again ? 'Rerun again…' : 'Rerun…'}
          button={again ? 'Rerun this processed event' : 'Rerun this event'}
          force={again}
          warning={warning}
        >
          {again
            ? 'The handler already succeeded and will run again. Make sure that its effects can safely happen twice.'
            : summary.deadReason === 'invalid'
              ? INVALID_RERUN
              : 'The event becomes pending, and its handler runs again. The history is kept.'}
        </Act>
      )}
      {mayRetryNow && (
        <Act
          visit={visit}
          summary={summary}
          act="retry-now"
          title="Retry now…"
          button="Retry this event now"
          warning={warning}
        >
          The event becomes due now, but still waits for older events of its entity. Its failures still count.
        </Act>
      )}
      {mayDiscard && (
        <Act visit={visit} summary={summary} act="discard" title="Discard…" button="Discard this event">
          {summary.deadReason === 'invalid'
            ? INVALID_DISCARD
            : 'The event becomes discarded, and no handler runs. You can rerun it later.'}
        </Act>
      )}
      {isOperator && pruned && <p class="muted">The body was pruned, so the event cannot be rerun.</p>}
      <Copyable text={eventCommand('show', summary, visit.named)} />
    </section>
  );
}

/** Opened by a click or a key, and confirmed by a button: neither alone does anything. */
function Act({
  visit,
  summary,
  act,
  title,
  button,
  force = false,
  warning = <></>,
  children,
}: {
  readonly visit: Visit;
  readonly summary: EventSummary;
  readonly act: ActName;
  readonly title: string;
  readonly button: string;
  readonly force?: boolean;
  readonly warning?: Child;
  readonly children: Child;
}) {
  return (
    // What is asked of a processed event has an id of its own: an update must not put it into the form that is being
    // filled in.
    <details class="act" id={force ? 'rerun-again' : act}>
      <summary>{title}</summary>
      <p>{children}</p>
      {warning}
      <ActForm visit={visit} to={`${eventHref('', summary)}/${act}`} label={button}>
        <input type="hidden" name="state" value={summary.state} />
        {force && <input type="hidden" name="force" value="yes" />}
        <ReasonField isRequired={act === 'discard' || force} />
        <button type="submit" class={act === 'discard' ? undefined : 'primary'}>
          {button}
        </button>
      </ActForm>
      <Copyable text={eventCommand(act, summary, { ...visit.named, force })} />
    </details>
  );
}

function bodyGone(event: StoredEvent): string {
  if (isImportedId(event)) return 'unknown: other code handled the event, and only its id was imported';
  return 'pruned: only a tombstone is left';
}
