import type { PropsWithChildren } from 'hono/jsx';
import type { Act as ActName } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import type { Visit } from '../visit.ts';
import { askedByFilter } from '../../inbox/rules/acts.ts';
import { actOnAll, type ActedOn } from '../../ops/words/act-words.ts';
import { ActForm } from './act-form.tsx';
import { ExportMenu } from './export-menu.tsx';
import { asksForAll } from './filter-query.ts';
import { filterFields } from './screen-links.ts';

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
