import type { PropsWithChildren } from 'hono/jsx';
import type { Act as ActName } from '../../inbox/operator/acts.ts';
import type { EventFilter } from '../../inbox/operator/filter.ts';
import type { Visit } from '../visit.ts';
import { ActForm } from './act-form.tsx';
import { asksForAll } from './filter-query.ts';
import { filterFields } from './screen-links.ts';

/** Each leads to a preview, which says how many events they are before anything happens. */
export function ActsOnAll({ visit, filter }: { readonly visit: Visit; readonly filter: EventFilter }) {
  const query = new URLSearchParams(filterFields(filter)).toString();
  const all = asksForAll(filter) ? 'all events' : 'all that match';
  if (visit.visitor.role !== 'operator') return <></>;
  // No field of a form says that nothing is meant: without one, all would be.
  if (filter.states?.length === 0) return <></>;
  return (
    <section class="actions" id="acts" aria-label="What can be done with all of them">
      <BulkForm visit={visit} filter={filter} act="rerun" label={`Rerun ${all}…`} />
      <BulkForm visit={visit} filter={filter} act="discard" label={`Discard ${all}…`} />
      {mayWaitForRetry(filter) && <BulkForm visit={visit} filter={filter} act="hurry" label={`Try ${all} now…`} />}
      {!visit.masks && (
        <a href={`${visit.base}/maintenance/export${query === '' ? '' : `?${query}`}`} download>
          Export {all}
        </a>
      )}
    </section>
  );
}

/** Whether it asks for pending events: elsewhere a button that hurries would be in the way. */
function mayWaitForRetry({ states, retrying }: EventFilter): boolean {
  return retrying ?? states?.includes('pending') ?? false;
}

function BulkForm({
  visit,
  filter,
  act,
  label,
}: {
  readonly visit: Visit;
  readonly filter: EventFilter;
  readonly act: ActName;
  readonly label: string;
}) {
  return (
    <ActForm visit={visit} to="/bulks" label={label}>
      <input type="hidden" name="act" value={act} />
      {filterFields(filter).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <button type="submit">{label}</button>
      {act === 'rerun' && <Force />}
    </ActForm>
  );
}

function Force() {
  return (
    <label>
      <input type="checkbox" name="force" value="yes" /> ignored and processed ones too
    </label>
  );
}

/** A list whose events can be chosen: what is done with them goes through the same preview. The bar stands below, where it moves nothing. */
export function ActsOnChosen({
  visit,
  mayHurry,
  children,
}: PropsWithChildren<{
  readonly visit: Visit;
  /** some of them wait for their next attempt */
  readonly mayHurry: boolean;
}>) {
  if (visit.visitor.role !== 'operator') return <>{children}</>;
  return (
    <div id="choice">
      <ActForm visit={visit} to="/bulks" label="What can be done with those that are chosen">
        <input type="hidden" name="chosen" value="yes" />
        {children}
        <div class="actions chosen" id="chosen">
          <span id="chosen-count">Chosen:</span>
          <button type="submit" name="act" value="rerun">
            Rerun…
          </button>
          <button type="submit" name="act" value="discard">
            Discard…
          </button>
          {mayHurry && (
            <button type="submit" name="act" value="hurry">
              Try now…
            </button>
          )}
          <label>
            <input type="checkbox" name="force" value="yes" /> rerun processed ones too
          </label>
        </div>
      </ActForm>
    </div>
  );
}
