import type { Child } from 'hono/jsx';
import type { Act, ActResult, Bulk } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { hasEnded } from '../../inbox/rules/bulks.ts';
import { outcomeAtFirst, getBulk, USUAL_RATE, listBulks } from '../../ops/bulks.ts';
import { timeLeft } from '../../ops/bulk-forecast.ts';
import { listEvents } from '../../ops/find.ts';
import { lanesOf } from '../../ops/pauses.ts';
import { ACT_WORDS, doneOf, sentenceOf, stateInWords } from '../../ops/words/act-words.ts';
import { causeOfDeath, causeOfRetry, resultInWords } from '../../ops/words/event-words.ts';
import { age, number, percent, plural, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { eventsHref } from '../parts/filter-fields.ts';
import { FilterWords } from '../parts/filter-words.tsx';
import { pageBefore, pageLinks } from '../parts/list-query.tsx';
import { DataTable, Facts, Panel, type FactList, Notice } from '../parts/list-table.tsx';
import { NO_REASON, Reason, StoredText, Time } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { countedOutcome, outcomeInShort, outcomePanel } from './bulk-fates.tsx';
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
  const isOffered = bulk.act !== 'discard' && !hasEnded(bulk) && !isUnderWay(bulk);
  const warning = isOffered ? await heldUpWarning(visit, lanesOf(bulk)) : <></>;
  const title = `Bulk ${bulk.act} ${number(bulk.id)}`;
  const tab = bulk.state === 'running' ? `${percent(doneOf(bulk))} ${title}` : title;
  const dead = { count: counted?.outcome?.counts.dead ?? 0, more: false };
  return {
    title,
    tab: bulk.act === 'discard' ? tab : withDead(dead, tab),
    current: '/bulks',
    content: (
      <div id="live">
        {isBegun(visit.url) && !hasEnded(bulk) && bulk.stopped === null && begunNotice(bulk, base)}
        <p id="sentence" class={bulk.state === 'previewed' || bulk.stopped !== null ? 'notice' : undefined}>
          {sentenceOf(bulk)}
          {bulk.stopped !== null && <> It has {stateInWords(bulk)}.</>}
        </p>
        {counted !== null && outcomePanel(bulk, counted, base, now)}
        {bulk.state === 'done' && leftAlone(bulk)}
        {bulk.state !== 'done' && bulk.startedAt !== null && progressOf(bulk, now)}
        {actsOn(bulk, visit, warning)}
        <Panel id="facts" title="Details">
          <Facts facts={await factsOf(bulk, visit)} />
        </Panel>
      </div>
    ),
  };
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
  const { act, actor, reason, force, state, createdAt, startedAt, endedAt } = bulk;
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
    ['why', <Reason reason={reason} atMost={1_000} />],
    time('previewed', createdAt),
    time('began', startedAt),
    time(state === 'cancelled' ? 'cancelled' : 'ended', endedAt),
    startedAt !== null && endedAt !== null && ['took', age(endedAt.getTime() - startedAt.getTime())],
  ];
}

/** The filter of a search: a fingerprint alone would be one of dead events. */
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

function leftAlone({ act, counts }: Bulk) {
  const { done: _, ...others } = counts;
  if (Object.values(others).every((count) => count === 0)) return <></>;
  return (
    <Panel id="left-alone" title={`Events not ${ACT_WORDS[act].done}`}>
      {resultsOf(act, others)}
    </Panel>
  );
}

function resultsOf(act: Act, counts: Bulk['counts']) {
  const results = Object.entries(counts).filter(([, count]) => count > 0);
  if (results.length === 0) return <></>;
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

function progressOf(bulk: Bulk, now: Date) {
  const { act, counts, worked, total, startedAt, endedAt } = bulk;
  const left = timeLeft(bulk);
  return (
    <Panel id="progress" title="Progress">
      <p>
        <label for="bar">
          {number(worked)} of {number(total)} ({percent(doneOf(bulk))})
        </label>{' '}
        <progress class="bar" id="bar" max={Math.max(total, 1)} value={total === 0 ? 1 : worked}>
          {percent(doneOf(bulk))}
        </progress>
      </p>
      {resultsOf(act, counts)}
      {startedAt !== null && endedAt === null && (
        <p class="muted">
          Began {age(now.getTime() - startedAt.getTime())} ago.
          {isUnderWay(bulk) && left !== null && ` About ${age(left)} left.`}
        </p>
      )}
    </Panel>
  );
}

const FROZEN = 'Events that began to match after the preview are not included.';
const UNFIT = `Invalid events that do not fit the current schemas stay unchanged. ${FROZEN}`;

const WHAT_COMES = {
  rerun: `The events become pending, and their handlers run again. ${UNFIT}`,
  discard: `The events become discarded: no handler runs, but you can rerun them later. ${UNFIT}`,
  'retry-now':
    'The events skip their backoff and become due now. Failures still count: an event that fails its last ' +
    `attempt becomes dead. ${FROZEN}`,
} as const satisfies Record<Bulk['act'], string>;

const UNDER_WAY =
  'If the process that is running this bulk action ends, this page shows that within about a minute and lets you run ' +
  'the rest.';
const STOPPED = 'It has stopped. Run the rest to continue; no event is changed twice.';

function buttonFor({ act, total }: Bulk): string {
  const events = plural(total, 'event');
  return { rerun: `Rerun ${events}`, discard: `Discard ${events}`, 'retry-now': `Retry ${events} now` }[act];
}

/** The page offers no second run of such a bulk, because that would have its own rate. */
function isUnderWay({ state, stopped }: Bulk): boolean {
  return state === 'running' && stopped === null;
}

function actsOn(bulk: Bulk, visit: Visit, warning: Child) {
  if (hasEnded(bulk)) return <></>;
  if (visit.visitor.role !== 'operator') return <p class="muted">Only operators can run or cancel a bulk action.</p>;
  const isPreview = bulk.state === 'previewed';
  const left = bulk.total - bulk.worked;
  const isSevere = bulk.act === 'discard' || bulk.force;
  return (
    <section class="panel" id="acts" data-offers>
      <h2>{isPreview ? 'Run it?' : isUnderWay(bulk) ? 'Cancel the rest?' : 'Run the rest?'}</h2>
      <p>{isPreview ? WHAT_COMES[bulk.act] : isUnderWay(bulk) ? UNDER_WAY : STOPPED}</p>
      {warning}
      <div class="actions">
        <div id="cancel">
          <ActForm visit={visit} to={`/bulks/${bulk.id}/cancel`} label="Cancel">
            <button type="submit">{isPreview ? 'Cancel' : 'Cancel the rest'}</button>
          </ActForm>
        </div>
        {left > 0 && !isUnderWay(bulk) && (
          <div id="run">
            <ActForm visit={visit} to={`/bulks/${bulk.id}/run`} label={isPreview ? 'Run' : 'Resume'}>
              <label>
                Maximum events per second{' '}
                <input type="number" name="rate" min="1" max="100000" value={String(USUAL_RATE)} required />
              </label>{' '}
              <ReasonField
                value={isSevere ? '' : (bulk.reason ?? '')}
                isRequired={isSevere}
                hasFocus={isPreview && !isBegun(visit.url)}
              />{' '}
              <button type="submit" class="primary">
                {isPreview ? buttonFor(bulk) : `Run the remaining ${number(left)}`}
              </button>
            </ActForm>
          </div>
        )}
      </div>
    </section>
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
            rows={bulks}
            rowIs={({ id }) => ({ id: `bulk-${id}`, 'data-href': `${base}/bulks/${id}` })}
            columns={[
              [
                'action',
                ({ act, id }) => (
                  <a href={`${base}/bulks/${id}`}>
                    {act} {number(id)}
                  </a>
                ),
              ],
              ['state', stateInWords],
              ['events', ({ total }) => number(total)],
              ['outcome', (bulk) => outcomeInShort(bulk, outcomes.get(bulk.id) ?? null, base)],
              ['filter', ({ id, filter }) => <FilterWords filter={filter} visit={visit} bulk={id} />],
              ['by', ({ actor }) => inShort(actor, 60)],
              ['reason', ({ reason }) => (reason === null ? NO_REASON : inShort(reason, 80))],
              ['previewed', ({ createdAt }) => <Time at={createdAt} now={now} />],
            ]}
          />
        )}
        {pageLinks(url, bulks.length === PAGE ? (bulks.at(-1)?.id ?? null) : null)}
      </div>
    ),
  };
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
