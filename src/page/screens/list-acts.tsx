import type { Child } from 'hono/jsx';
import type { Act } from '../../inbox/operator/acts.ts';
import type { EventFilter, EventSummary } from '../../inbox/operator/search.ts';
import { requestByFilter, mayBeDone, searchedFor, summaryAt } from '../../inbox/rules/decide-act.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { actOnAll, type ActedOn } from '../../ops/words/act-words.ts';
import { asksForAll, filterFields } from '../parts/filter-fields.ts';
import type { Visit } from '../visit.ts';
import type { Listed, Listing } from './listing.ts';
import { ExportMenu } from '../parts/export-menu.tsx';
import { ActForm } from '../parts/form-fields.tsx';
import { Menu } from '../parts/menu.tsx';

/** `again`: a rerun that includes settled events. */
export type ActsOnAll = Readonly<Record<Act | 'again', ActedOn>>;

export function actsOnAll(visit: Visit, filter: EventFilter, acts: ActsOnAll) {
  if (visit.visitor.role !== 'operator') return <></>;
  // A form cannot express an empty list of states: without the field, it would select all.
  if (filter.states?.length === 0) return <></>;
  const isOfAll = asksForAll(filter);
  const form = (name: keyof ActsOnAll) => {
    const actedOn = acts[name];
    if (actedOn.count?.count === 0) return null;
    const act = name === 'again' ? 'rerun' : name;
    const label = `${actOnAll(act, actedOn, isOfAll)}…`;
    const force = name === 'again' ? [['force', 'yes'] as const] : [];
    return (
      <ActForm visit={visit} to="/bulks" label={label} hidden={[['act', act], ...force, ...filterFields(filter)]}>
        <button type="submit">{label}</button>
      </ActForm>
    );
  };
  const offersAgain = acts.again.states.some((state) => !acts.rerun.states.includes(state));
  const more = [offersAgain && form('again'), form('discard')].filter(Boolean);
  return (
    <section class="actions" id="acts" aria-label="Actions on all events in the list">
      {form('retry-now')}
      {form('rerun')}
      <ExportMenu visit={visit} id="export-all" isMenu what="" filter={filter} />
      {more.length > 0 && (
        <Menu id="more" icon="actions" label="More actions">
          <ul>
            {more.map((each) => (
              <li>{each}</li>
            ))}
          </ul>
        </Menu>
      )}
    </section>
  );
}

export function actsOnChosen(visit: Visit, events: readonly EventSummary[], list: Child) {
  if (visit.visitor.role !== 'operator') return <>{list}</>;
  const button = (act: Act, words: string) => (
    <button type="submit" name="act" value={act}>
      {words}
    </button>
  );
  return (
    <div id="choice">
      <ActForm visit={visit} to="/bulks" label="Actions on the selected events" hidden={[['chosen', 'yes']]}>
        {list}
        <div class="actions chosen" id="chosen">
          <span id="chosen-count">Selected:</span>
          {button('rerun', 'Rerun…')}
          {button('discard', 'Discard…')}
          {events.some(({ state, failures }) => state === 'pending' && failures > 0) &&
            button('retry-now', 'Retry now…')}
          {events.some(({ state }) => state === 'processed') && (
            <label>
              <input type="checkbox" name="force" value="yes" /> include processed events
            </label>
          )}
          <ExportMenu visit={visit} id="export-chosen" what="" isMenu />
        </div>
      </ActForm>
    </div>
  );
}

const SHORT = 500;

export async function actsOnList(listing: Listing, visit: Visit): Promise<ActsOnAll> {
  const [rerun, again, discard, retryNow] = await Promise.all([
    actedOn('rerun', listing, visit),
    actedOn('rerun', listing, visit, true),
    actedOn('discard', listing, visit),
    actedOn('retry-now', listing, visit),
  ]);
  return { rerun, again, discard, 'retry-now': retryNow };
}

async function actedOn(
  act: Act,
  { filter, listed, isFurther }: Listing,
  visit: Visit,
  force = false,
): Promise<ActedOn> {
  const requested = requestByFilter(act, force, filter);
  const states = requested.states.filter((state) => state === 'pending' || filter.retrying !== true);
  if (listed !== null && listed.next === null && !isFurther) {
    const events = listed.events.filter((event) => mayBeDone(requested, summaryAt(event, visit.now)));
    const found = states.filter((state) => events.some((event) => event.state === state));
    return { states: found, count: { count: events.length, more: false } };
  }
  if (states.length === 0) return { states, count: { count: 0, more: false } };
  // No filter excludes events without a body. Bodies are read once, for the list.
  const isUncountable = act === 'rerun' && states.some((state) => state !== 'dead');
  if (isUncountable || (filter.body ?? filter.bodyText) !== undefined) return { states, count: null };
  const acted = withBodies(act, searchedFor(requested, filter));
  const counted = isSame(acted, filter) ? listed?.count : null;
  // A long list is counted only as far as an index can, so that the page does not wait.
  const request = { examined: isShort(listed) ? SHORT : 0 };
  const { count, more, cut } = counted ?? (await operationsOf(visit.operated.inbox).countFound(acted, request));
  // No filter excludes retries that are due already.
  const isKnown = !cut && (act !== 'retry-now' || count === 0);
  return { states, count: isKnown ? { count, more } : null };
}

function isShort(listed: Listed | null): boolean {
  const count = listed?.count ?? null;
  return count !== null && !count.more && !count.cut && count.count <= SHORT;
}

/** A rerun skips dead events without a body. Filters for a failure or a group exclude these already. */
function withBodies(act: Act, filter: EventFilter): EventFilter {
  const asksAlready = (filter.fingerprint ?? filter.failedSince ?? filter.failedUntil) !== undefined;
  return act === 'rerun' && !asksAlready ? { ...filter, failedSince: new Date(0) } : filter;
}

function isSame(acted: EventFilter, filter: EventFilter): boolean {
  const { states = [], ...others } = acted;
  const { states: listed, ...rest } = filter;
  return listed?.length === states.length && Object.keys(others).length === Object.keys(rest).length;
}
