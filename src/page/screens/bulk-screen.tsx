import type { Child } from 'hono/jsx';
import type { ActResult, Bulk } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { hasEnded } from '../../inbox/rules/bulks.ts';
import { outcomeAtFirst, type OutcomeAtFirst, getBulk, USUAL_RATE, listBulks } from '../../ops/bulks.ts';
import { listEvents } from '../../ops/find.ts';
import { lanesOf } from '../../ops/pauses.ts';
import { ACT_WORDS, doneOf, sentenceOf, stateInWords } from '../../ops/words/act-words.ts';
import { causeOfDeath, causeOfRetry, resultInWords } from '../../ops/words/event-words.ts';
import { age, number, percent, plural, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { ActForm, heldUpWarning, ReasonField } from '../parts/act-form.tsx';
import { eventsHref } from '../parts/filter-fields.ts';
import { FilterWords } from '../parts/filter-words.tsx';
import { pageOf, PageLinks } from '../parts/list-query.tsx';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time.tsx';
import type { Screen, Visit } from '../visit.ts';
import { Outcome, countedOutcome, OutcomeInShort } from './bulk-fates.tsx';

/** One bulk action: what it will do, how far it is, what came of it. */
export async function bulkScreen(visit: Visit, id: number): Promise<Screen> {
  const bulk = await getBulk(visit.lasting, id);
  if (bulk === null) {
    return {
      title: 'No such bulk action',
      status: 404,
      current: '/bulks',
      content: (
        <p class="notice">
          No bulk action has this number. <a href={`${visit.base}/bulks`}>All bulk actions</a>
        </p>
      ),
    };
  }
  const counted = bulk.startedAt === null ? null : await countedOutcome(visit.lasting, id);
  const isOffered = bulk.act !== 'discard' && !hasEnded(bulk) && !isUnderWay(bulk);
  const warning = isOffered ? await heldUpWarning(visit, lanesOf(bulk)) : <></>;
  const title = `Bulk ${bulk.act} ${number(bulk.id)}`;
  return {
    title,
    tab: bulkTab(bulk, counted?.outcome?.counts.dead ?? 0, title),
    current: '/bulks',
    content: (
      <div id="live">
        {isBegun(visit.url) && !hasEnded(bulk) && bulk.stopped === null && (
          <p class="notice" role="status" id="begun">
            {bulk.state === 'running' ? (
              'The run has begun. It continues even if you leave this page.'
            ) : (
              <>
                The run has not begun yet. If it does not begin soon, check the{' '}
                <a href={`${visit.base}/health`}>Health</a> screen to see whether the inbox can be written to.
              </>
            )}
          </p>
        )}
        <p id="sentence" class={bulk.state === 'previewed' || bulk.stopped !== null ? 'notice' : undefined}>
          {sentenceOf(bulk)}
          {bulk.stopped !== null && <> It has {stateInWords(bulk)}.</>}
        </p>
        {counted !== null && <Outcome bulk={bulk} counted={counted} base={visit.base} now={visit.now} />}
        {bulk.state === 'done' && <LeftAlone bulk={bulk} />}
        {bulk.state !== 'done' && bulk.startedAt !== null && <Progress bulk={bulk} now={visit.now} />}
        <Acts bulk={bulk} visit={visit} warning={warning} />
        <Facts bulk={bulk} visit={visit} cause={await causeOf(bulk, visit)} />
      </div>
    ),
  };
}

/** How far it is, and what has died of it. */
function bulkTab(bulk: Bulk, dead: number, title: string): string {
  const named = bulk.state === 'running' ? `${percent(doneOf(bulk))} ${title}` : title;
  return bulk.act === 'discard' ? named : withDead({ count: dead, more: false }, named);
}

/** As it is searched for: a fingerprint alone would be one of dead events. */
function meantBy({ act, filter }: Bulk): EventFilter {
  return act === 'retry-now' ? { ...filter, retrying: true } : filter;
}

/** What the newest of a group died of, before anything is done: its fingerprint says nothing to people. */
async function causeOf(bulk: Bulk, { operated }: Visit): Promise<string | null> {
  const { act, state, filter } = bulk;
  if (state !== 'previewed' || filter.fingerprint === undefined) return null;
  const states = act === 'retry-now' ? (['pending'] as const) : (['dead'] as const);
  const { events } = await listEvents(operated.inbox, { ...meantBy(bulk), states }, { limit: 1 });
  const [newest] = events;
  if (act === 'retry-now') return newest === undefined ? null : causeOfRetry(newest.lastError);
  if (newest === undefined || newest.deadReason === null) return null;
  return causeOfDeath({ sample: newest.lastError, reason: newest.deadReason });
}

/** What its run did not do as it was asked to; how much it did, the sentence above says. */
function LeftAlone({ bulk: { act, counts } }: { readonly bulk: Bulk }) {
  const { done: _, ...others } = counts;
  if (Object.values(others).every((count) => count === 0)) return <></>;
  return (
    <section class="panel" id="left-alone">
      <h2>Events not {ACT_WORDS[act].done}</h2>
      <Results act={act} counts={others} />
    </section>
  );
}

function Results({ act, counts }: Pick<Bulk, 'act' | 'counts'>) {
  const results = Object.entries(counts).filter(([, count]) => count > 0);
  if (results.length === 0) return <></>;
  return (
    <ul id="results">
      {results.map(([result, count]) => (
        <li>
          {/* the keys of `counts` are results */}
          <strong>{number(count)}</strong> {resultInWords(act, result as ActResult)}
        </li>
      ))}
    </ul>
  );
}

function Progress({ bulk, now }: { readonly bulk: Bulk; readonly now: Date }) {
  const { act, counts, worked, total, startedAt, endedAt } = bulk;
  return (
    <section class="panel" id="progress">
      <h2>Progress</h2>
      <p>
        <label for="bar">
          {number(worked)} of {number(total)} ({percent(doneOf(bulk))})
        </label>{' '}
        <progress class="bar" id="bar" max={Math.max(total, 1)} value={total === 0 ? 1 : worked}>
          {percent(doneOf(bulk))}
        </progress>
      </p>
      <Results act={act} counts={counts} />
      {startedAt !== null && endedAt === null && (
        <p class="muted">Began {age(now.getTime() - startedAt.getTime())} ago.</p>
      )}
    </section>
  );
}

function Facts({
  bulk,
  visit,
  cause,
}: {
  readonly bulk: Bulk;
  readonly visit: Visit;
  /** of the group that it is about, where it is about one */
  readonly cause: string | null;
}) {
  const { base, now } = visit;
  return (
    <section class="panel" id="facts">
      <h2>Details</h2>
      <dl class="facts">
        <div>
          <dt>filter</dt>
          <dd>
            <FilterWords filter={bulk.filter} visit={visit} bulk={bulk.id} />{' '}
            <a href={eventsHref(base, meantBy(bulk))}>events that match now</a>
          </dd>
        </div>
        {cause !== null && (
          <div>
            <dt>their last error</dt>
            <dd>
              <StoredText text={cause} />
            </dd>
          </div>
        )}
        {bulk.act === 'rerun' && (
          <div>
            <dt>processed events</dt>
            <dd>{bulk.force ? 'also rerun' : 'not rerun'}</dd>
          </div>
        )}
        <div>
          <dt>by</dt>
          <dd>
            <StoredText text={bulk.actor} />
          </dd>
        </div>
        <div>
          <dt>why</dt>
          <dd>
            {bulk.reason === null ? (
              <span class="muted">no reason given</span>
            ) : (
              <StoredText text={bulk.reason} atMost={1_000} />
            )}
          </dd>
        </div>
        <TimeFact name="previewed" at={bulk.createdAt} now={now} />
        <TimeFact name="began" at={bulk.startedAt} now={now} />
        <TimeFact name={bulk.state === 'cancelled' ? 'cancelled' : 'ended'} at={bulk.endedAt} now={now} />
        {bulk.startedAt !== null && bulk.endedAt !== null && (
          <div>
            <dt>took</dt>
            <dd>{age(bulk.endedAt.getTime() - bulk.startedAt.getTime())}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}

function TimeFact({ name, at, now }: { readonly name: string; readonly at: Date | null; readonly now: Date }) {
  if (at === null) return <></>;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Time at={at} now={now} />
      </dd>
    </div>
  );
}

const WHAT_COMES = {
  rerun:
    'The events become pending, and their handlers run again. Invalid events that do not fit the current schemas ' +
    'stay unchanged. Events ' +
    'that began to match after the preview are not included.',
  discard:
    'The events become discarded: no handler runs, but you can rerun them later. Invalid events that do not fit the ' +
    'current schemas stay unchanged. Events that began to match after the preview are not included.',
  'retry-now':
    'The events skip their backoff and become due now. Failures still count: an event that fails its last ' +
    'attempt becomes dead. Events that began to match after the preview are not included.',
} as const satisfies Record<Bulk['act'], string>;

function buttonFor({ act, total }: Bulk): string {
  const events = plural(total, 'event');
  return { rerun: `Rerun ${events}`, discard: `Discard ${events}`, 'retry-now': `Retry ${events} now` }[act];
}

/** The bulk is running: the page offers no second run, because that would have its own rate. */
function isUnderWay({ state, stopped }: Bulk): boolean {
  return state === 'running' && stopped === null;
}

function Acts({ bulk, visit, warning }: { readonly bulk: Bulk; readonly visit: Visit; readonly warning: Child }) {
  if (hasEnded(bulk)) return <></>;
  if (visit.visitor.role !== 'operator') return <p class="muted">Only operators can run or cancel a bulk action.</p>;
  const isPreview = bulk.state === 'previewed';
  const left = bulk.total - bulk.worked;
  const isSevere = bulk.act === 'discard' || bulk.force;
  return (
    <section class="panel" id="acts" data-offers>
      <h2>{isPreview ? 'Run it?' : isUnderWay(bulk) ? 'Cancel the rest?' : 'Run the rest?'}</h2>
      {isPreview ? (
        <p>{WHAT_COMES[bulk.act]}</p>
      ) : (
        <p>
          {isUnderWay(bulk)
            ? 'If the process that is running this bulk action ends, this page shows that within about a minute and ' +
              'lets you run the rest.'
            : 'It has stopped. Run the rest to continue; no event is changed twice.'}
        </p>
      )}
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

/** Of each it is counted what became of its events. */
const PAGE = 20;

/** Bulk actions, the newest first. */
export async function bulksScreen(visit: Visit): Promise<Screen> {
  const { before } = pageOf(visit.url);
  const bulks = await listBulks(visit.lasting, { before, limit: PAGE });
  const last = bulks.at(-1);
  const { inbox } = visit.operated;
  const outcomes = new Map(
    await Promise.all(bulks.map(async (bulk) => [bulk.id, await outcomeAtFirst(inbox, bulk)] as const)),
  );
  return {
    title: 'Bulk actions',
    current: '/bulks',
    content: (
      <div id="live">
        {bulks.length === 0 ? (
          <p class="notice" id="none">
            {before === null
              ? 'No bulk actions yet. Start one from a group on the Dead events screen, or from a filter on the Events screen.'
              : 'No older bulk actions.'}
          </p>
        ) : (
          <BulksTable bulks={bulks} outcomes={outcomes} visit={visit} />
        )}
        <PageLinks url={visit.url} next={bulks.length === PAGE ? (last?.id ?? null) : null} />
      </div>
    ),
  };
}

function BulksTable({
  bulks,
  outcomes,
  visit,
}: {
  readonly bulks: readonly Bulk[];
  readonly outcomes: ReadonlyMap<Bulk['id'], OutcomeAtFirst | null>;
  readonly visit: Visit;
}) {
  const { base, now } = visit;
  return (
    <table class="list" id="bulks">
      <thead>
        <tr>
          <th scope="col">action</th>
          <th scope="col">state</th>
          <th scope="col">events</th>
          <th scope="col">outcome</th>
          <th scope="col">filter</th>
          <th scope="col">by</th>
          <th scope="col">reason</th>
          <th scope="col">previewed</th>
        </tr>
      </thead>
      <tbody>
        {bulks.map((bulk) => (
          <tr id={`bulk-${bulk.id}`} data-href={`${base}/bulks/${bulk.id}`}>
            <th scope="row">
              <a href={`${base}/bulks/${bulk.id}`}>
                {bulk.act} {number(bulk.id)}
              </a>
            </th>
            <td data-label="state">{stateInWords(bulk)}</td>
            <td data-label="events">{number(bulk.total)}</td>
            <td data-label="outcome">
              <OutcomeInShort bulk={bulk} found={outcomes.get(bulk.id) ?? null} base={base} />
            </td>
            <td data-label="filter">
              <FilterWords filter={bulk.filter} visit={visit} bulk={bulk.id} />
            </td>
            <td data-label="by">
              <InShort text={bulk.actor} atMost={60} />
            </td>
            <td data-label="reason">
              {bulk.reason === null ? (
                <span class="muted">no reason given</span>
              ) : (
                <InShort text={bulk.reason} atMost={80} />
              )}
            </td>
            <td data-label="previewed">
              <Time at={bulk.createdAt} now={now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Its screen has the whole of it; here it is as long as this also where each character is shown by its number. */
function InShort({ text, atMost }: { readonly text: string; readonly atMost: number }) {
  return <StoredText text={oneLine(text, atMost)} atMost={atMost} />;
}

// That a run has begun is true until it has ended, so the screen says it and not the action.

/** The screen of a bulk action whose run has just begun. */
export function begunHref(href: string): string {
  return `${href}?done=running`;
}

/** Whether a visitor comes from the button that began it. */
function isBegun({ searchParams }: URL): boolean {
  return searchParams.get('done') === 'running';
}
