import { eventTypes } from '../../events/event-types.ts';
import type { Pause } from '../../inbox/operator/pauses.ts';
import { LONGEST_OF_LANE } from '../../inbox/rules/pauses.ts';
import { namedEndpoints, pausedTypes, strangerInWords } from '../../ops/pauses.ts';
import { bounded } from '../../ops/words/format.ts';
import { DataTable, type Column, Panel, Notice } from '../parts/list-table.tsx';
import { TypeAt, Until } from '../parts/waiting.tsx';
import { Reason, StoredText, Time } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { ActForm, ReasonField } from '../parts/form-fields.tsx';
import { pendingHref } from '../parts/filter-fields.ts';

export async function pausedScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const [pauses, named] = await Promise.all([pausedTypes(inbox), namedEndpoints(inbox, visit.now.getTime())]);
  return {
    title: 'Paused types',
    current: '/paused',
    content: (
      <>
        <div id="live">
          {pauses.length === 0 ? <Notice>No types are paused.</Notice> : pausesTable(pauses, named, visit)}
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
      <ActForm
        visit={visit}
        to="/paused/resume"
        label={`Resume ${type}`}
        hidden={Object.entries({ type, endpoint })}
        byButton
      >
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
        [
          'since',
          (pause) => (
            <>
              <Time at={pause.since} now={now} />
              <Until pause={pause} now={now} />
            </>
          ),
        ],
        ['by', ({ actor }) => <StoredText text={actor} atMost={60} />],
        ['reason', ({ reason }) => <Reason reason={reason} atMost={300} />],
        [
          'waiting',
          (pause) => <a href={pendingHref(base, pause)}>{bounded({ count: pause.waiting, more: pause.more })}</a>,
        ],
        ...(visitor.role === 'operator' ? [resume] : []),
      ]}
    />
  );
}

/** Outside of `#live`, so that an update does not replace a text that is being typed. */
function pauseForm(named: readonly string[], visit: Visit) {
  const { searchParams } = visit.url;
  const [usual = 'default'] = named.length === 1 ? named : [];
  return (
    <Panel id="pause" title="Pause a type">
      <p>
        Deliveries of a paused type are still stored and answered, but no handler starts until you resume the type.
        Running handlers finish. Newer events of the same order, cart or product also wait.
      </p>
      <div class="actions">
        <ActForm visit={visit} to="/paused/pause" label="Pause a type" byButton>
          {suggestedField('Type', 'type', searchParams.get('type') ?? '', eventTypes)}
          {suggestedField('Endpoint', 'endpoint', searchParams.get('endpoint') ?? usual, named)}
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

function suggestedField(label: string, name: 'type' | 'endpoint', value: string, suggested: readonly string[]) {
  const list = `known-${name}s`;
  return (
    <>
      <label>
        {label} <input type="text" name={name} list={list} value={value} maxlength={LONGEST_OF_LANE[name]} required />
      </label>{' '}
      <datalist id={list}>
        {suggested.map((each) => (
          <option value={each} />
        ))}
      </datalist>
    </>
  );
}
