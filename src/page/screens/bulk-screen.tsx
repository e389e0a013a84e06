import type { Act, ActResult, Bulk, BulkEvent } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { hasEnded } from '../../inbox/rules/bulks.ts';
import { actingInWords, againInWords, forecast, handlingInWords, timeLeft } from '../../ops/bulk-forecast.ts';
import { bulkEvents, FASTEST_RATE, outcomeAtFirst, getBulk, USUAL_RATE, listBulks } from '../../ops/bulks.ts';
import { listEvents } from '../../ops/find.ts';
import { lanesOf } from '../../ops/pauses.ts';
import { ACT_WORDS, doneOf, sentenceOf, stateInWords } from '../../ops/words/act-words.ts';
import { causeOfDeath, causeOfRetry, resultInWords } from '../../ops/words/event-words.ts';
import { age, number, percent, plural, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { eventHref, eventsHref } from '../parts/filter-fields.ts';
import { Icon } from '../parts/icon.tsx';
import { FilterWords } from '../parts/filter-words.tsx';
import { pageBefore, pageLinks } from '../parts/list-query.tsx';
import { type Column, DataTable, Facts, Panel, type FactList, Notice, State } from '../parts/list-table.tsx';
import { AtEndpoint, NO_REASON, Reason, Shortened, ShortTime, StoredText, Time } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { countedOutcome, type CountedOutcome, outcomeInShort, outcomePanel } from './bulk-fates.tsx';
import { heldUpWarning } from '../parts/waiting.tsx';
import { ActForm, ReasonField } from '../parts/form-fields.tsx';

export async function bulkScreen(visit: Visit, id: number): Promise<Screen> {
  const { base, now, lasting } = visit;
  const bulk = await getBulk(lasting, id);
  if (bulk === null) {
    return {
      title: 'No such bulk action',
      status: 404,
      current: '/bulks',
      content: (
        <p class="notice">
          No bulk action has this number. <a href={`${base}/bulks`}>All bulk actions</a>
        </p>
      ),
    };
  }
  const counted = bulk.startedAt === null ? null : await countedOutcome(lasting, id);
  const title = `Bulk ${bulk.act} ${number(bulk.id)}`;
  const tab = bulk.state === 'running' ? `${percent(doneOf(bulk))} ${title}` : title;
  const dead = { count: counted?.outcome?.counts.dead ?? 0, more: false };
  const isPreview = bulk.state === 'previewed';
  return {
    title,
    tab: bulk.act === 'discard' ? tab : withDead(dead, tab),
    current: '/bulks',
    content: (
      <div id="live">
        {isBegun(visit.url) && !hasEnded(bulk) && bulk.stopped === null && begunNotice(bulk, base)}
        {isPreview || (
          <p id="sentence">
            {sentenceOf(bulk)}
            {bulk.stopped !== null && <> It has {stateInWords(bulk)}.</>}
          </p>
        )}
        {isPreview ? await previewPanel(bulk, visit) : hasEnded(bulk) || (await progressPanel(bulk, visit))}
        {hasEnded(bulk) && awaitsHandlers(bulk, counted) && (await heldUpWarning(visit, lanesOf(bulk)))}
        {counted !== null && outcomePanel(bulk, counted, base, now)}
        {isPreview && (await samplesPanel(bulk, visit))}
        {bulk.startedAt !== null && hasEnded(bulk) && (await skippedPanel(bulk, visit))}
        <Panel id="facts" title="Details">
          <Facts facts={await factsOf(bulk, visit)} />
        </Panel>
      </div>
    ),
  };
}

function awaitsHandlers({ act }: Bulk, counted: CountedOutcome | null): boolean {
  const { waiting = 0, retrying = 0 } = counted?.outcome?.counts ?? {};
  return act !== 'discard' && waiting + retrying > 0;
}

function begunNotice({ state }: Bulk, base: string) {
  return (
    <p class="notice" role="status" id="begun">
      {state === 'running' ? (
        'The run has begun. It continues even if you leave this page.'
      ) : (
        <>
          The run has not begun yet. If it does not begin soon, check the <a href={`${base}/health`}>Health</a> screen
          to see whether the inbox can be written to.
        </>
      )}
    </p>
  );
}

async function factsOf(bulk: Bulk, visit: Visit): Promise<FactList> {
  const { act, actor, reason, force, state, ratePerSecond, createdAt, startedAt, endedAt } = bulk;
  const cause = await causeOf(bulk, visit);
  const time = (name: string, at: Date | null) => at !== null && ([name, <Time at={at} now={visit.now} />] as const);
  return [
    [
      'filter',
      <>
        <FilterWords filter={bulk.filter} visit={visit} bulk={bulk.id} />{' '}
        <a href={eventsHref(visit.base, meantBy(bulk))}>events that match now</a>
      </>,
    ],
    cause !== null && ['their last error', <StoredText text={cause} />],
    act === 'rerun' && ['processed events', force ? 'also rerun' : 'not rerun'],
    ['by', <StoredText text={actor} />],
    ['reason', <Reason reason={reason} atMost={1_000} />],
    ratePerSecond !== null && ['events per second', ratePerSecond === Infinity ? 'no limit' : String(ratePerSecond)],
    time('previewed', createdAt),
    time('began', startedAt),
    time(state === 'cancelled' ? 'cancelled' : 'ended', endedAt),
    startedAt !== null && endedAt !== null && ['took', age(endedAt.getTime() - startedAt.getTime())],
  ];
}

/** The filter of a search: a fingerprint alone would find dead events. */
function meantBy({ act, filter }: Bulk): EventFilter {
  return act === 'retry-now' ? { ...filter, retrying: true } : filter;
}

async function causeOf(bulk: Bulk, { operated }: Visit): Promise<string | null> {
  const { act, state, filter } = bulk;
  if (state !== 'previewed' || filter.fingerprint === undefined) return null;
  const states = act === 'retry-now' ? (['pending'] as const) : (['dead'] as const);
  const { events } = await listEvents(operated.inbox, { ...meantBy(bulk), states }, { limit: 1 });
  const [newest] = events;
  if (newest === undefined) return null;
  if (act === 'retry-now') return causeOfRetry(newest.lastError);
  return newest.deadReason === null ? null : causeOfDeath({ sample: newest.lastError, reason: newest.deadReason });
}

function resultsOf(act: Act, counts: Bulk['counts']) {
  const results = Object.entries(counts).filter(([, count]) => count > 0);
  if (results.every(([result]) => result === 'done')) return <></>;
  return (
    <ul id="results">
      {results.map(([result, count]) => (
        <li>
          <strong>{number(count)}</strong> {resultInWords(act, result as ActResult)}
        </li>
      ))}
    </ul>
  );
}

const SKIPPED_SHOWN = 50;

async function skippedPanel(bulk: Bulk, visit: Visit) {
  const { act, counts, id } = bulk;
  const { done: _, ...others } = counts;
  const skipped = Object.values(others).reduce((sum, count) => sum + count, 0);
  if (skipped === 0) return <></>;
  const { events } = await bulkEvents(visit.operated.inbox, id, { skipped: true, limit: SKIPPED_SHOWN });
  return (
    <Panel id="left-alone" title={`Events not ${ACT_WORDS[act].done}`}>
      {resultsOf(act, others)}
      {events.length > 0 && (
        <DataTable
          id="skipped"
          kind="groups"
          rows={events}
          rowIs={({ event }) => ({ id: `skipped-${event.seq}`, 'data-href': eventHref(visit.base, event) })}
          columns={[
            eventColumn(visit.base),
            ['State now', ({ event }) => <State summary={event} />, { 'data-label': 'state now' }],
            [
              'Why',
              ({ result }) => (
                <span class="line" title={result === null ? undefined : resultInWords(act, result)}>
                  <span>{result === null ? '–' : resultInWords(act, result)}</span>
                </span>
              ),
              { 'data-label': 'why', 'data-col': 'rest' },
            ],
          ]}
        />
      )}
      {skipped > events.length && events.length > 0 && (
        <p class="muted">Only the newest {number(events.length)} of these events are listed.</p>
      )}
    </Panel>
  );
}

function eventColumn(base: string): Column<BulkEvent> {
  return [
    'Event',
    ({ event }) => (
      <a class="line" href={eventHref(base, event)} title={oneLine(`${event.type ?? 'invalid'} ${event.id}`, 500)}>
        {event.type === null ? 'invalid' : <StoredText text={event.type} atMost={60} />}{' '}
        <span class="muted">
          <Shortened text={event.id} atMost={24} />
          <AtEndpoint endpoint={event.endpoint} />
        </span>
      </a>
    ),
    { 'data-col': 'event' },
  ];
}

const SAMPLES = 10;

async function samplesPanel(bulk: Bulk, visit: Visit) {
  const { base, now, operated } = visit;
  const { events } = await bulkEvents(operated.inbox, bulk.id, { limit: SAMPLES });
  if (events.length === 0) return <></>;
  const title = bulk.total > events.length ? `The newest ${events.length} of ${plural(bulk.total, 'event')}` : 'Events';
  return (
    <Panel id="samples" title={title}>
      <DataTable
        kind="groups"
        rows={events}
        rowIs={({ event }) => ({ id: `sample-${event.seq}`, 'data-href': eventHref(base, event) })}
        columns={[
          eventColumn(base),
          ['State', ({ event }) => <State summary={event} />, { 'data-label': 'state' }],
          [
            'Received',
            ({ event }) => <ShortTime at={event.receivedAt} now={now} />,
            { 'data-label': 'received', 'data-col': 'first' },
          ],
          [
            'Last error',
            ({ event: { lastError } }) =>
              lastError !== null && (
                <span class="line" title={oneLine(causeOfRetry(lastError), 500)}>
                  <StoredText text={causeOfRetry(lastError)} atMost={240} />
                </span>
              ),
            { 'data-label': 'last error', 'data-col': 'rest' },
          ],
        ]}
      />
    </Panel>
  );
}

const FROZEN = 'Events that began to match after the preview are not included.';
const UNFIT = `Invalid events that do not fit the current schemas stay unchanged. ${FROZEN}`;

const EFFECTS = {
  rerun: `The events become pending, and their handlers run again. ${UNFIT}`,
  discard: `The events become discarded: no handler runs, but you can rerun them later. ${UNFIT}`,
  'retry-now':
    'The events skip their backoff and become due now. Failures still count: an event that fails its last ' +
    `attempt becomes dead. ${FROZEN}`,
} as const satisfies Record<Bulk['act'], string>;

const UNDER_WAY =
  'If the process that runs this bulk action ends, this page shows that within a minute and lets you resume.';

function buttonFor({ act, total }: Bulk): string {
  const events = plural(total, 'event');
  return { rerun: `Rerun ${events}`, discard: `Discard ${events}`, 'retry-now': `Retry ${events} now` }[act];
}

/** The page does not offer a second run of such a bulk action, because that run would have its own rate. */
function isUnderWay({ state, stopped }: Bulk): boolean {
  return state === 'running' && stopped === null;
}

function isOperator({ visitor }: Visit): boolean {
  return visitor.role === 'operator';
}

/** Obstacles, duration and the button. */
async function previewPanel(bulk: Bulk, visit: Visit) {
  const { operated, now } = visit;
  const expected = await forecast(operated.inbox, bulk, now.getTime());
  const { processed = 0 } = bulk.breakdown.states;
  const remarks = [againInWords(bulk), actingInWords(expected), handlingInWords(expected)];
  return (
    <section class="panel" id="acts" data-offers>
      <h2>{buttonFor(bulk)}?</h2>
      <p id="sentence">{sentenceOf(bulk)}</p>
      {bulk.total > 0 && (
        <>
          {bulk.act !== 'discard' && (await heldUpWarning(visit, lanesOf(bulk)))}
          {processed > 0 && <p class="warning">{secondRunInWords(processed)}</p>}
          <ul id="expected">
            <li>{EFFECTS[bulk.act]}</li>
            {remarks.map((remark) => remark !== null && <li>{remark}</li>)}
          </ul>
        </>
      )}
      {isOperator(visit) ? (
        <div class="act-row">
          {bulk.total > 0 && runForm(bulk, visit)}
          {cancelForm(bulk, visit, 'Cancel')}
        </div>
      ) : (
        <p class="muted">{ONLY_OPERATORS}</p>
      )}
    </section>
  );
}

function secondRunInWords(processed: number): string {
  const are = processed === 1 ? 'is' : 'are';
  const their = processed === 1 ? 'its handler runs' : 'their handlers run';
  return `${plural(processed, 'event')} ${are} already processed: ${their} again. Make sure that this does no harm.`;
}

const ONLY_OPERATORS = 'Only operators can run, pause or cancel a bulk action.';

async function progressPanel(bulk: Bulk, visit: Visit) {
  const { act, counts, worked, total, startedAt } = bulk;
  const rest = total - worked;
  const isGoing = isUnderWay(bulk);
  const left = isGoing ? timeLeft(bulk) : null;
  return (
    <section class="panel" id="progress">
      <h2>
        <span class={`state state-${isGoing ? 'processing' : 'paused'}`}>
          {isGoing ? 'Running' : bulk.state === 'paused' ? 'Paused' : 'Stopped'}
        </span>
      </h2>
      {!isGoing && <p>Resume to continue; no event is changed twice.</p>}
      <label class="bar-row" for="bar">
        <span>
          {number(worked)} of {plural(total, 'event')} ({percent(doneOf(bulk))})
        </span>
        <span class="muted">
          {left !== null && `About ${age(left)} left. `}
          {startedAt !== null && `Began ${age(visit.now.getTime() - startedAt.getTime())} ago.`}
        </span>
      </label>
      <progress class="bar" id="bar" max={Math.max(total, 1)} value={total === 0 ? 1 : worked}>
        {percent(doneOf(bulk))}
      </progress>
      {resultsOf(act, counts)}
      {act !== 'discard' && (await heldUpWarning(visit, lanesOf(bulk)))}
      {isOperator(visit) ? (
        <div class="act-row" id="acts" data-offers>
          {isGoing ? (
            <ActForm visit={visit} to={`/bulks/${bulk.id}/pause`} id="pause" label="Pause" byButton>
              <button type="submit">
                <Icon name="pause" />
                Pause
              </button>
            </ActForm>
          ) : (
            rest > 0 && runForm(bulk, visit)
          )}
          {cancelForm(bulk, visit, 'Cancel the rest')}
          <span class="muted">The remaining {plural(rest, 'event')} would stay unchanged.</span>
        </div>
      ) : (
        <p class="muted">{ONLY_OPERATORS}</p>
      )}
      {isGoing && <p class="muted">{UNDER_WAY}</p>}
    </section>
  );
}

function runForm(bulk: Bulk, visit: Visit) {
  const isPreview = bulk.state === 'previewed';
  const isSevere = bulk.act === 'discard' || bulk.force;
  return (
    <div id="run">
      <ActForm visit={visit} to={`/bulks/${bulk.id}/run`} label={isPreview ? 'Run' : 'Resume'} byButton={isSevere}>
        <ReasonField
          value={isSevere ? '' : (bulk.reason ?? '')}
          isRequired={isSevere}
          hasFocus={isPreview && !isBegun(visit.url)}
        />{' '}
        <label>
          Events per second <input type="number" name="rate" min="1" max={FASTEST_RATE} value={rateOf(bulk)} required />
        </label>{' '}
        <button type="submit" class={isSevere ? 'danger' : 'primary'}>
          <Icon name={bulk.act === 'discard' ? 'discard' : 'play'} />
          {isPreview ? buttonFor(bulk) : `Resume the remaining ${number(bulk.total - bulk.worked)}`}
        </button>
      </ActForm>
    </div>
  );
}

function rateOf({ ratePerSecond }: Bulk): number {
  return Math.min(Math.max(1, Math.round(ratePerSecond ?? USUAL_RATE)), FASTEST_RATE);
}

function cancelForm(bulk: Bulk, visit: Visit, words: 'Cancel' | 'Cancel the rest') {
  return (
    <div id="cancel">
      <ActForm visit={visit} to={`/bulks/${bulk.id}/cancel`} label={words} hidden={[['state', bulk.state]]} byButton>
        <button type="submit">
          {words !== 'Cancel' && <Icon name="stop" />}
          {words}
        </button>
      </ActForm>
    </div>
  );
}

const PAGE = 20;

export async function bulksScreen(visit: Visit): Promise<Screen> {
  const { base, now, lasting, operated, url } = visit;
  const before = pageBefore(url);
  const bulks = await listBulks(lasting, { before, limit: PAGE });
  const outcomes = new Map(
    await Promise.all(bulks.map(async (bulk) => [bulk.id, await outcomeAtFirst(operated.inbox, bulk)] as const)),
  );
  return {
    title: 'Bulk actions',
    current: '/bulks',
    content: (
      <div id="live">
        {bulks.length === 0 ? (
          <Notice>
            {before === null
              ? 'No bulk actions yet. Start one from a group on the Dead events screen, or from a filter on the Events screen.'
              : 'No older bulk actions.'}
          </Notice>
        ) : (
          <DataTable
            id="bulks"
            kind="groups"
            rows={bulks}
            rowIs={({ id }) => ({ id: `bulk-${id}`, 'data-href': `${base}/bulks/${id}` })}
            columns={[
              [
                'Action',
                ({ act, id }) => (
                  <a href={`${base}/bulks/${id}`}>
                    {act} {number(id)}
                  </a>
                ),
              ],
              [
                'State',
                (bulk) => <span class={`state state-${dotOf(bulk)}`}>{stateInWords(bulk)}</span>,
                { 'data-label': 'state' },
              ],
              ['Events', ({ total }) => number(total), { 'data-label': 'events', class: 'figures' }],
              [
                'Outcome',
                (bulk) => outcomeInShort(bulk, outcomes.get(bulk.id) ?? null, base),
                { 'data-label': 'outcome', 'data-col': 'wrap' },
              ],
              [
                'Filter',
                ({ id, filter }) => <FilterWords filter={filter} visit={visit} bulk={id} />,
                { 'data-label': 'filter', 'data-col': 'wrap' },
              ],
              [
                'By',
                ({ actor }) => (
                  <span class="line" title={oneLine(actor, 200)}>
                    {inShort(actor, 60)}
                  </span>
                ),
                { 'data-label': 'by', 'data-col': 'types' },
              ],
              [
                'Reason',
                ({ reason }) => (
                  <span class="line" title={reason === null ? undefined : oneLine(reason, 500)}>
                    {reason === null ? NO_REASON : inShort(reason, 200)}
                  </span>
                ),
                { 'data-label': 'reason', 'data-col': 'rest' },
              ],
              ['Previewed', ({ createdAt }) => <ShortTime at={createdAt} now={now} />, { 'data-label': 'previewed' }],
            ]}
          />
        )}
        {pageLinks(url, bulks.length === PAGE ? (bulks.at(-1)?.id ?? null) : null)}
      </div>
    ),
  };
}

function dotOf(bulk: Bulk): string {
  if (bulk.state === 'running') return isUnderWay(bulk) ? 'processing' : 'paused';
  return { previewed: 'pending', paused: 'paused', done: 'processed', cancelled: 'discarded' }[bulk.state];
}

function inShort(text: string, atMost: number) {
  return <StoredText text={oneLine(text, atMost)} atMost={atMost} />;
}

export function begunHref(href: string): string {
  return `${href}?done=running`;
}

function isBegun({ searchParams }: URL): boolean {
  return searchParams.get('done') === 'running';
}
