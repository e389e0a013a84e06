import type { Pause } from '../../inbox/operator/pauses.ts';
import { isLane, LONGEST_OF_LANE } from '../../inbox/rules/pauses.ts';
import { namedEndpoints, pausedTypes, strangerInWords } from '../../ops/pauses.ts';
import { bounded } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { DataTable, type Column, Panel, Notice } from '../parts/list-table.tsx';
import { TypeAt, Until } from '../parts/waiting.tsx';
import { Reason, StoredText, Time } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { ResumeDialog } from './event-acts.tsx';
import { AskButton } from '../parts/dialog.tsx';
import { ActForm, Choices, ReasonField } from '../parts/form-fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { pendingHref } from '../parts/filter-fields.ts';
import { knownNames, type KnownNames } from './suggestions.ts';

export async function pausedScreen(visit: Visit, unseenType?: UnseenType): Promise<Screen> {
  const { inbox } = visit.operated;
  const screen = { title: 'Paused types', current: '/paused' };
  if (unseenType !== undefined) return { ...screen, content: unseenPanel(unseenType, visit) };
  const [pauses, named, known] = await Promise.all([
    pausedTypes(inbox),
    namedEndpoints(inbox, visit.now.getTime()),
    knownNames(visit),
  ]);
  return {
    ...screen,
    content: (
      <>
        <div id="live">
          {pauses.length === 0 ? <Notice>No types are paused.</Notice> : pausesTable(pauses, named, visit)}
        </div>
        {visit.visitor.role === 'operator' && pauseForm(pauses, named, known, visit)}
      </>
    ),
  };
}

function pausesTable(pauses: readonly Pause[], named: readonly string[], visit: Visit) {
  const { base, now, visitor } = visit;
  const resume: Column<Pause> = [
    <span class="unseen">Actions</span>,
    (pause) => {
      const id = `resume-${encodeURIComponent(`${pause.endpoint} ${pause.type}`)}`;
      const back = `${base}/paused`;
      return (
        <>
          <form method="get" action={back}>
            <AskButton id={id} icon="play" label="Resume" />
          </form>
          <ResumeDialog visit={visit} id={id} pause={pause} back={back} />
        </>
      );
    },
    { 'data-col': 'acts' },
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

/** Outside of `#live`, so that an update does not replace a choice or a text that is being typed. */
function pauseForm(pauses: readonly Pause[], named: readonly string[], known: KnownNames, visit: Visit) {
  const { searchParams } = visit.url;
  const endpoints = [...new Set([...named, ...known.endpoints.map(([endpoint]) => endpoint)])];
  if (endpoints.length === 0) endpoints.push('default');
  const chosen = searchParams.get('endpoint') ?? (endpoints.includes('default') ? 'default' : endpoints[0]) ?? '';
  const counts = new Map(known.types);
  const isPausedAt = (type: string, endpoint: string): boolean =>
    pauses.some((pause) => pause.type === type && pause.endpoint === endpoint);
  const types = known.types
    .map(([type]) => type)
    .filter((type) => isLane({ type, endpoint: chosen }) && !endpoints.every((endpoint) => isPausedAt(type, endpoint)));
  const endpoint =
    endpoints.length === 1 ? (
      <input type="hidden" name="endpoint" value={endpoints[0]} />
    ) : (
      <Choices legend="Endpoint" name="endpoint" type="radio" options={endpoints} chosen={[chosen]} />
    );
  return (
    <Panel id="pause" title="Pause a type">
      <p>
        Deliveries of a paused type are still stored and answered, but no handler starts until you resume the type.
        Running handlers finish. Newer events of the same order, cart or product also wait.
      </p>
      <ActForm visit={visit} to="/paused/pause" label="Pause a type" byButton>
        {endpoint}
        <Choices
          legend="Type"
          kind="picks"
          name="type"
          type="radio"
          options={types}
          words={(type) => (
            <>
              <bdi title={oneLine(type, 150)}>{oneLine(type, 80)}</bdi> <span class="muted">{counts.get(type)}</span>
            </>
          )}
          chosen={[searchParams.get('type') ?? '']}
        />
        <div class="act-row">
          <ReasonField />
          <button type="submit" class="primary">
            <Icon name="pause" />
            Pause type
          </button>
        </div>
      </ActForm>
      <details class="more" id="unseen">
        <summary>Pause another type</summary>
        <ActForm visit={visit} to="/paused/pause" label="Pause another type" byButton>
          {endpoint}
          <div class="act-row">
            <label>
              Type <input type="text" name="type" maxlength={LONGEST_OF_LANE.type} autocomplete="off" required />
            </label>
            <ReasonField />
            <button type="submit">Pause type…</button>
          </div>
        </ActForm>
      </details>
    </Panel>
  );
}

/** A type that was never received may be a typo. */
export interface UnseenType {
  readonly type: string;
  readonly endpoint: string;
  readonly reason: string;
  /** why it may be a typo */
  readonly fault: string;
}

function unseenPanel({ type, endpoint, reason, fault }: UnseenType, visit: Visit) {
  return (
    <Panel id="acts" title="Pause a type that was never received?">
      <p class="warning">
        <StoredText text={fault} /> Nothing was done.
      </p>
      <ActForm
        visit={visit}
        to="/paused/pause"
        label="Pause a type that was never received"
        hidden={Object.entries({ type, endpoint, unseen: 'yes' })}
        byButton
      >
        <div class="act-row">
          <ReasonField value={reason} />
          <a class="button" href={`${visit.base}/paused`}>
            Cancel
          </a>
          <button type="submit" class="primary">
            <span>
              Pause <bdi>{oneLine(type, 80)}</bdi> anyway
            </span>
          </button>
        </div>
      </ActForm>
    </Panel>
  );
}
