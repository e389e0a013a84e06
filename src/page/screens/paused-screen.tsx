import { eventTypes } from '../../events/event-types.ts';
import type { Pause } from '../../inbox/operator/pauses.ts';
import { LONGEST_OF_LANE } from '../../inbox/rules/pauses.ts';
import { pausedTypes } from '../../ops/pauses.ts';
import { bounded } from '../../ops/words/format.ts';
import { ActForm } from '../parts/act-form.tsx';
import { ListTable } from '../parts/list-table.tsx';
import { PausedType } from '../parts/paused-types.tsx';
import { ReasonField } from '../parts/reason-field.tsx';
import { eventsHref } from '../parts/screen-links.ts';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time-and-age.tsx';
import type { Screen, Visit } from '../visit.ts';

/** Types whose events are stored and not handled for a while: what is paused, and the way to pause and to resume. */
export async function pausedScreen(visit: Visit): Promise<Screen> {
  const pauses = await pausedTypes(visit.operated.inbox);
  return {
    title: 'Paused types',
    current: '/paused',
    content: (
      <>
        <div id="live">
          {pauses.length === 0 ? (
            <p class="notice" id="none">
              Nothing is paused.
            </p>
          ) : (
            <PausesTable pauses={pauses} visit={visit} />
          )}
        </div>
        {visit.visitor.role === 'operator' && <PauseForm visit={visit} />}
      </>
    ),
  };
}

function PausesTable({ pauses, visit }: { readonly pauses: readonly Pause[]; readonly visit: Visit }) {
  const { base, now, visitor } = visit;
  return (
    <ListTable
      id="pauses"
      columns={['type', 'since', 'by', 'why', 'waiting', ...(visitor.role === 'operator' ? ['resume'] : [])]}
    >
      {pauses.map((pause) => (
        <tr id={`pause-${encodeURIComponent(`${pause.endpoint} ${pause.type}`)}`}>
          <th scope="row">
            <PausedType pause={pause} />
          </th>
          <td data-label="since">
            <Time at={pause.since} now={now} />
          </td>
          <td data-label="by">
            <StoredText text={pause.actor} atMost={60} />
          </td>
          <td data-label="why">
            {pause.reason === null ? (
              <span class="muted">not said</span>
            ) : (
              <StoredText text={pause.reason} atMost={300} />
            )}
          </td>
          <td data-label="waiting">
            <a href={eventsHref(base, { endpoint: pause.endpoint, types: [pause.type], states: ['pending'] })}>
              {bounded({ count: pause.waiting, more: pause.more })}
            </a>
          </td>
          {visitor.role === 'operator' && (
            <td data-label="resume">
              <ActForm visit={visit} to="/paused/resume" label={`Resume ${pause.type}`}>
                <input type="hidden" name="type" value={pause.type} />
                <input type="hidden" name="endpoint" value={pause.endpoint} />
                <ReasonField />
                <button type="submit" class="primary" data-confirm>
                  Resume
                </button>
              </ActForm>
            </td>
          )}
        </tr>
      ))}
    </ListTable>
  );
}

/** Beside what is updated: what somebody types must stay. */
function PauseForm({ visit }: { readonly visit: Visit }) {
  const { searchParams } = visit.url;
  return (
    <section class="panel" id="pause">
      <h2>Pause a type</h2>
      <p>
        Its events go on being received, stored and answered. No processor begins to handle one until the type is
        resumed; handlers that run already end as they do. Newer events about the same order, cart or product wait
        behind it. Every process has to run a hookbox that knows pauses: an older one goes on handling the type.
      </p>
      <div class="actions">
        <ActForm visit={visit} to="/paused/pause" label="Pause a type">
          <label>
            Type{' '}
            <input
              type="text"
              name="type"
              list="known-types"
              value={searchParams.get('type') ?? ''}
              maxlength={LONGEST_OF_LANE.type}
              required
            />
          </label>{' '}
          <datalist id="known-types">
            {eventTypes.map((type) => (
              <option value={type} />
            ))}
          </datalist>
          <label>
            Endpoint{' '}
            <input
              type="text"
              name="endpoint"
              value={searchParams.get('endpoint') ?? 'default'}
              maxlength={LONGEST_OF_LANE.endpoint}
              required
            />
          </label>{' '}
          <ReasonField />{' '}
          <button type="submit" data-confirm>
            Pause this type
          </button>
        </ActForm>
      </div>
    </section>
  );
}
