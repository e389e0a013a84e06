import type { PropsWithChildren } from 'hono/jsx';
import type { Act as ActName, Act } from '../../inbox/operator/acts.ts';
import type { EventFilter, EventCount } from '../../inbox/operator/search.ts';
import { askedByFilter, mayBeDone, searchedFor, summaryAt } from '../../inbox/rules/decide-act.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { actOnAll, type ActedOn } from '../../ops/words/act-words.ts';
import { ActForm, ExportMenu } from '../parts/act-form.tsx';
import { asksForAll, filterFields } from '../parts/filter-fields.ts';
import type { Visit } from '../visit.ts';
import type { Listing } from './listing.ts';

/** Each leads to a preview, which says how many events they are before anything happens. */
export function ActsOnAll({
  visit,
  filter,
  actedOn,
}: {
  readonly visit: Visit;
  readonly filter: EventFilter;
  readonly actedOn: Readonly<Record<ActName, ActedOn>>;
}) {
  if (visit.visitor.role !== 'operator') return <></>;
  // No field of a form says that nothing is meant: without one, all would be.
  if (filter.states?.length === 0) return <></>;
  return (
    <section class="actions" id="acts" aria-label="Actions on all events in the list">
      <BulkForm visit={visit} filter={filter} act="rerun" actedOn={actedOn.rerun} />
      <BulkForm visit={visit} filter={filter} act="discard" actedOn={actedOn.discard} />
      {mayWaitForRetry(filter) && (
        <BulkForm visit={visit} filter={filter} act="retry-now" actedOn={actedOn['retry-now']} />
      )}
      <ExportMenu
        visit={visit}
        id="export-all"
        what={asksForAll(filter) ? 'all events' : 'all matching events'}
        filter={filter}
      />
    </section>
  );
}

/** Whether it asks for pending events: elsewhere the button for retrying now would be in the way. */
function mayWaitForRetry({ states, retrying }: EventFilter): boolean {
  return retrying ?? states?.includes('pending') ?? false;
}

function BulkForm({
  visit,
  filter,
  act,
  actedOn,
}: {
  readonly visit: Visit;
  readonly filter: EventFilter;
  readonly act: ActName;
  readonly actedOn: ActedOn;
}) {
  const isNone = actedOn.count?.count === 0;
  // Of what was processed, ignored or discarded a rerun has to be asked for by the box; none is tried again by itself.
  const mayForce =
    act === 'rerun' &&
    filter.retrying !== true &&
    askedByFilter(act, true, filter).states.some((state) => state !== 'dead');
  if (isNone && !mayForce) return <></>;
  const label = isNone ? 'Rerun…' : `${actOnAll(act, actedOn, asksForAll(filter))}…`;
  return (
    <ActForm visit={visit} to="/bulks" label={label}>
      <input type="hidden" name="act" value={act} />
      {filterFields(filter).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit">{label}</button>
      {mayForce && <Force isRequired={isNone} />}
    </ActForm>
  );
}

function Force({ isRequired }: { readonly isRequired: boolean }) {
  return (
    <label>
      <input type="checkbox" name="force" value="yes" required={isRequired} /> include ignored, discarded and processed
      events
    </label>
  );
}

/** A list whose events can be chosen: what is done with them goes through the same preview. The bar stands below, where it moves nothing. */
export function ActsOnChosen({
  visit,
  mayRetryNow,
  children,
}: PropsWithChildren<{
  readonly visit: Visit;
  /** some of them wait for their next attempt */
  readonly mayRetryNow: boolean;
}>) {
  if (visit.visitor.role !== 'operator') return <>{children}</>;
  return (
    <div id="choice">
      <ActForm visit={visit} to="/bulks" label="Actions on the selected events">
        <input type="hidden" name="chosen" value="yes" />
        {children}
        <div class="actions chosen" id="chosen">
          <span id="chosen-count">Selected:</span>
          <button type="submit" name="act" value="rerun">
            Rerun…
          </button>
          <button type="submit" name="act" value="discard">
            Discard…
          </button>
          {mayRetryNow && (
            <button type="submit" name="act" value="retry-now">
              Retry now…
            </button>
          )}
          <label>
            <input type="checkbox" name="force" value="yes" /> include processed events
          </label>
          <ExportMenu visit={visit} id="export-chosen" what="" />
        </div>
      </ActForm>
    </div>
  );
}

/** What an action on all that match would be done to, as its preview would find it now. */
export async function actedOn(act: Act, { filter, listed, isFurther }: Listing, visit: Visit): Promise<ActedOn> {
  const asked = askedByFilter(act, false, filter);
  if (listed !== null && listed.next === null && !isFurther) {
    const events = listed.events.filter((event) => mayBeDone(asked, summaryAt(event, visit.now)));
    const states = asked.states.filter((state) => events.some((event) => event.state === state));
    return { states, count: { count: events.length, more: false } };
  }
  const { states } = asked;
  if (states.length === 0) return { states, count: { count: 0, more: false } };
  // What is due by now is not retried now, and what was ignored or discarded is not rerun once its body is gone: no filter tells these apart.
  // And bodies are read for a list once, and not for each action.
  const isUntold = act === 'retry-now' || (act === 'rerun' && states.some((state) => state !== 'dead'));
  if (isUntold || filter.body !== undefined) return { states, count: null };
  const acted = withBodies(act, searchedFor(asked, filter));
  const counted = isSame(acted, filter) && listed !== null ? listed.count : null;
  // Of a long list only what an index knows: the page is not kept waiting for what a preview finds.
  const request = { examined: isShort(listed?.count ?? null) ? SHORT : 0 };
  const { count, more, cut } = counted ?? (await operationsOf(visit.operated.inbox).countFound(acted, request));
  return { states, count: cut ? null : { count, more } };
}

const SHORT = 500;

function isShort(count: EventCount | null): boolean {
  return count !== null && !count.more && !count.cut && count.count <= SHORT;
}

/** A dead event without a body is not rerun. A filter that asks when an event has failed, or of which group it is, finds none. */
function withBodies(act: Act, filter: EventFilter): EventFilter {
  const asksAlready = (filter.fingerprint ?? filter.failedSince ?? filter.failedUntil) !== undefined;
  return act === 'rerun' && !asksAlready ? { ...filter, failedSince: new Date(0) } : filter;
}

/** Whether the list is of just these: then it is counted already. */
function isSame(acted: EventFilter, filter: EventFilter): boolean {
  const { states = [], ...others } = acted;
  const { states: listed, ...rest } = filter;
  return listed?.length === states.length && Object.keys(others).length === Object.keys(rest).length;
}
