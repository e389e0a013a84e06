import { eventTypes } from '../../events/event-types.ts';
import type { Pause } from '../../inbox/operator/pauses.ts';
import { LONGEST_OF_LANE } from '../../inbox/rules/pauses.ts';
import { namedEndpoints, pausedTypes, strangerInWords } from '../../ops/pauses.ts';
import { bounded } from '../../ops/words/format.ts';
import { ActForm, ReasonField } from '../parts/act-form.tsx';
import { DataTable, type Column, Panel } from '../parts/list-table.tsx';
import { TypeAt } from '../parts/waiting.tsx';
import { eventsHref } from '../parts/filter-fields.ts';
import { Reason, StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time.tsx';
import type { Screen, Visit } from '../visit.ts';

export async function pausedScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const [pauses, named] = await Promise.all([pausedTypes(inbox), namedEndpoints(inbox, visit.now.getTime())]);
  return {
    title: 'Paused types',
    current: '/paused',
    content: (
      <>
        <div id="live">
          {pauses.length === 0 ? (
            <p class="notice" id="none">
              No types are paused.
            </p>
          ) : (
            pausesTable(pauses, named, visit)
          )}
        </div>
        {visit.visitor.role === 'operator' && pauseForm(named, visit)}
      </>
    ),
  };
}

function pausesTable(pauses: readonly Pause[], named: readonly string[], visit: Visit) {
  const { base, now, visitor } = visit;
  const resume: Column<Pause> = [
    'resume',
    ({ type, endpoint }) => (
      <ActForm visit={visit} to="/paused/resume" label={`Resume ${type}`}>
        <input type="hidden" name="type" value={type} />
        <input type="hidden" name="endpoint" value={endpoint} />
        <ReasonField />
        <button type="submit" class="primary">
          Resume
        </button>
      </ActForm>
    ),
  ];
  return (
    <DataTable
      id="pauses"
      rows={pauses}
      rowIs={({ endpoint, type }) => ({ id: `pause-${encodeURIComponent(`${endpoint} ${type}`)}` })}
      columns={[
        [
          'type',
          (pause) => {
            const stranger = strangerInWords(pause.endpoint, named);
            return (
              <>
                <TypeAt of={pause} />
                {stranger !== null && <p class="muted">{stranger}</p>}
              </>
            );
          },
        ],
        ['since', ({ since }) => <Time at={since} now={now} />],
        ['by', ({ actor }) => <StoredText text={actor} atMost={60} />],
        ['reason', ({ reason }) => <Reason reason={reason} atMost={300} />],
        [
          'waiting',
          ({ endpoint, type, waiting, more }) => (
            <a href={eventsHref(base, { endpoint, types: [type], states: ['pending'] })}>
              {bounded({ count: waiting, more })}
            </a>
          ),
        ],
        ...(visitor.role === 'operator' ? [resume] : []),
      ]}
    />
  );
}

/**
 * Outside of `#live`, so that the text that somebody types stays.
 *
 * @param named - the endpoints that processors name
 */
function pauseForm(named: readonly string[], visit: Visit) {
  const { searchParams } = visit.url;
  return (
    <Panel id="pause" title="Pause a type">
      <p>
        Deliveries of a paused type are still stored and answered, but no handler starts until you resume the type.
        Running handlers finish. Newer events of the same order, cart or product also wait.
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
              list="known-endpoints"
              value={searchParams.get('endpoint') ?? (named.length === 1 ? named[0] : 'default')}
              maxlength={LONGEST_OF_LANE.endpoint}
              required
            />
          </label>{' '}
          <datalist id="known-endpoints">
            {named.map((endpoint) => (
              <option value={endpoint} />
            ))}
          </datalist>
          <ReasonField />{' '}
          <label>
            <input type="checkbox" name="unseen" value="yes" /> allow a type that has no processor and no events yet
          </label>{' '}
          <button type="submit">Pause type</button>
        </ActForm>
      </div>
    </Panel>
  );
}
