import type { Child } from 'hono/jsx';
import type { EventFilter, RetryGroup } from '../../inbox/operator/search.ts';
import { MOST_GROUPS } from '../../inbox/rules/error-groups.ts';
import { deadGroupings, deadLines, type DeadGrouping, type DeadLine } from '../../ops/dead-lines.ts';
import { EXPORT_FORMATS, exportFormats } from '../../ops/export.ts';
import { retryGroups } from '../../ops/find.ts';
import { causeOfDeath, causeOfRetry } from '../../ops/words/event-words.ts';
import { number, bounded, plural, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { ExportMenu, mayExport } from '../parts/export-menu.tsx';
import { eventHref, eventsHref, filterFields, hrefOf } from '../parts/filter-fields.ts';
import { ActForm, Field, type HiddenFields, ReasonField } from '../parts/form-fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { LinkRow } from '../parts/list-query.tsx';
import { ChooseHead, DataTable, type Column, Notice, Panel } from '../parts/list-table.tsx';
import { Menu } from '../parts/menu.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import { ShortTime, StoredText } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';

const GROUPING_WORDS = { error: 'Error', type: 'Type', release: 'Release' } as const satisfies Record<
  DeadGrouping,
  string
>;

const SORTS = {
  count: (one, other) => other.count - one.count,
  first: (one, other) => other.firstDeadAt.getTime() - one.firstDeadAt.getTime(),
  last: (one, other) => other.lastDeadAt.getTime() - one.lastDeadAt.getTime(),
} as const satisfies Record<string, (one: DeadLine, other: DeadLine) => number>;

type Sort = keyof typeof SORTS;

interface View {
  readonly visit: Visit;
  readonly by: DeadGrouping;
  readonly sort: Sort;
}

export async function deadEventsScreen(visit: Visit): Promise<Screen> {
  const { operated, visitor, now, url } = visit;
  const by = deadGroupings.find((one) => one === url.searchParams.get('by')) ?? 'error';
  const sort = (Object.keys(SORTS) as Sort[]).find((one) => one === url.searchParams.get('sort')) ?? 'count';
  const [found, retries] = await Promise.all([
    deadLines(operated.inbox, by, now.getTime()),
    retryGroups(operated.inbox),
  ]);
  const lines = found.toSorted((one, other) => Number(isOpen(other)) - Number(isOpen(one)) || SORTS[sort](one, other));
  const dead = { count: lines.reduce((sum, { count }) => sum + count, 0), more: lines.some(({ more }) => more) };
  const view = { visit, by, sort };
  return {
    title: 'Dead events',
    tab: withDead(dead, 'Dead events'),
    current: '/dead',
    content: (
      <div id="live">
        {lines.length === 0 ? (
          <Notice>No event is dead. Dead events appear here, grouped by last error.</Notice>
        ) : (
          <>
            <div class="heading" id="acts">
              <div class="grouping">
                <span class="muted">Group by</span>
                <LinkRow
                  kind="views"
                  label="Group by"
                  links={deadGroupings.map((one) => [hrefOfView(view, { by: one }), GROUPING_WORDS[one], one === by])}
                />
              </div>
              <ExportMenu visit={visit} id="export-all" what="all dead events" isMenu filter={{ states: ['dead'] }} />
            </div>
            {lines.length >= MOST_GROUPS && by === 'error' && (
              <Notice id="more">Only {number(lines.length)} groups are shown.</Notice>
            )}
            {by !== 'error' && dead.more && (
              <Notice id="more">Only the {number(dead.count)} events that became dead last are counted.</Notice>
            )}
            {lineTable(view, lines)}
            {by === 'error' && mayExport(visit) && (
              <ActForm
                visit={visit}
                to="/maintenance/export"
                id={CHOICE}
                label="Actions on the selected groups"
                hidden={[['state', 'dead']]}
              >
                <div class="actions chosen" id="chosen">
                  <span id="chosen-count">Selected:</span>
                  <ExportMenu visit={visit} id="export-chosen" what="" isMenu />
                  <span class="muted">You can rerun or discard only one group at a time.</span>
                </div>
              </ActForm>
            )}
            <p class="muted" id="intro">
              No handler runs for dead events unless {visitor.role === 'operator' ? 'you rerun' : 'an operator reruns'}{' '}
              them. Errors of a group differ only in ids and numbers.{' '}
              <span class="bars">Each bar counts the events that became dead in one of the last 24 hours.</span>
            </p>
          </>
        )}
        {retries.length > 0 && (
          <Panel id="retries" title="Waiting for a retry">
            {retryTable(visit, retries)}
          </Panel>
        )}
      </div>
    ),
  };
}

function hrefOfView({ by, sort }: View, change: Partial<Pick<View, 'by' | 'sort'>>): string {
  const to = { by, sort, ...change };
  const query = new URLSearchParams({
    ...(to.by !== 'error' && { by: to.by }),
    ...(to.sort !== 'count' && { sort: to.sort }),
  });
  return `?${query.toString()}`;
}

const CHOICE = 'choice';
const DAY = 'the last 24 hours';

function isOpen({ group }: DeadLine): boolean {
  return group?.open ?? true;
}

function lineTable(view: View, lines: readonly DeadLine[]) {
  const { visit, by } = view;
  const { base, now } = visit;
  const isChosen = by === 'error' && mayExport(visit);
  const hrefOf = ({ filter }: DeadLine): string => eventsHref(base, filter);
  const ordered = (words: string, to: Sort): Child => (
    <a href={hrefOfView(view, { sort: to })} aria-current={view.sort === to ? 'true' : undefined}>
      {words}
    </a>
  );
  const box: Column<DeadLine> = [
    <ChooseHead />,
    (line) => (
      <input
        type="checkbox"
        name="fingerprint"
        value={line.group?.fingerprint}
        form={CHOICE}
        aria-label={`Select the group ${nameOf(line, by)}`}
      />
    ),
    { 'data-col': 'choose' },
  ];
  const columns: readonly (Column<DeadLine> | false)[] = [
    isChosen && box,
    [
      GROUPING_WORDS[by],
      (line) => (
        <>
          <a class="line" href={hrefOf(line)} title={nameOf(line, by)}>
            {by === 'error' || line.name !== null ? (
              <StoredText text={nameOf(line, by)} atMost={240} />
            ) : (
              nameOf(line, by)
            )}
          </a>
          {line.group !== null && acknowledgementOf(line.group, now)}
        </>
      ),
      { 'data-col': 'name' },
    ],
    [ordered('Events', 'count'), (line) => bounded(line), { 'data-label': 'events', class: 'figures' }],
    [
      ordered('First', 'first'),
      (line) => <ShortTime at={line.firstDeadAt} now={now} />,
      { 'data-label': 'first', 'data-col': 'first' },
    ],
    [
      ordered('Last', 'last'),
      (line) => (
        <a href={eventHref(base, line.newest)}>
          <span class="unseen">Show newest event: </span>
          <ShortTime at={line.lastDeadAt} now={now} />
        </a>
      ),
      { 'data-label': 'last' },
    ],
    by !== 'type' && ['Types', ({ types }) => <Names names={types} />, { 'data-label': 'types', 'data-col': 'types' }],
    by !== 'error' && ['Errors', ({ errors }) => number(errors ?? 0), { 'data-label': 'errors', class: 'figures' }],
    by !== 'release' && [
      'Releases',
      ({ releases }) => <Names names={releases} />,
      { 'data-label': 'releases', 'data-col': 'releases' },
    ],
    ['24 h', lately, { 'data-label': '24 h', 'data-col': 'spark' }],
    visit.visitor.role === 'operator' && [
      <span class="unseen">Actions</span>,
      (line) => lineActs(visit, line, by),
      { 'data-col': 'acts' },
    ],
  ];
  return (
    <DataTable
      id="groups"
      kind="groups"
      rows={lines}
      rowIs={(line) => ({
        id: `group-${line.key}`,
        'data-href': hrefOf(line),
        ...(!isOpen(line) && { class: 'calm' }),
      })}
      named={isChosen ? 1 : 0}
      columns={columns.filter((column) => column !== false)}
    />
  );
}

function nameOf({ group, name }: DeadLine, by: DeadGrouping): string {
  if (group !== null) return oneLine(causeOfDeath(group), 240);
  return name === null ? { error: '', type: 'Invalid events', release: 'No release known' }[by] : oneLine(name, 240);
}

function acknowledgementOf({ open, acknowledged }: NonNullable<DeadLine['group']>, now: Date) {
  if (acknowledged === null) return <></>;
  const { actor, at, reason, link, count } = acknowledged;
  return (
    <span class="note" title={reason === null ? undefined : oneLine(reason, 500)}>
      <Icon name={open ? 'rerun' : 'done'} />
      {open ? `Reopened: ${plural(count, 'event')} acknowledged by ` : 'Acknowledged by '}
      <StoredText text={actor} atMost={60} /> <ShortTime at={at} now={now} />
      {link !== null && (
        <>
          <a href={link} rel="noreferrer nofollow">
            Runbook
          </a>
        </>
      )}
      {reason !== null && (
        <>
          <StoredText text={reason} atMost={300} />
        </>
      )}
    </span>
  );
}

const SHOWN = 1;

function Names({ names }: { readonly names: readonly string[] }) {
  const [first] = names;
  if (first === undefined) return <span class="muted">–</span>;
  const rest = names.length - SHOWN;
  return (
    <span class="line" title={names.map((name) => oneLine(name, 80)).join(', ')}>
      <StoredText text={first} atMost={60} />
      {rest > 0 && <span class="muted"> +{rest}</span>}
    </span>
  );
}

function lineActs(visit: Visit, line: DeadLine, by: DeadGrouping) {
  const { filter, group, key } = line;
  const cause = oneLine(nameOf(line, by), 80);
  const chosen = filterFields(filter).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const act = (name: 'rerun' | 'discard', words: string) => (
    <ActForm visit={visit} to="/bulks" label={`${words}: ${cause}`} hidden={[['act', name], ...chosen]}>
      <button type="submit" title={name === 'discard' ? `${words}…` : undefined}>
        <Icon name={name} />
        <span>{words}…</span>
      </button>
    </ActForm>
  );
  return (
    <div class="row-acts">
      {act('rerun', 'Rerun')}
      {act('discard', 'Discard')}
      {(group !== null || mayExport(visit)) && (
        <Menu id={`menu-${key}`} icon="actions" label={`Actions: ${cause}`}>
          {exports(visit, filter, `export-${key}`)}
          {group !== null && acknowledging(visit, group, cause)}
        </Menu>
      )}
    </div>
  );
}

function exports(visit: Visit, filter: EventFilter, id: string) {
  if (!mayExport(visit)) return <></>;
  const to = `${visit.base}/maintenance/export`;
  return (
    <ul id={id}>
      {exportFormats.map((format) => (
        <li>
          <a href={hrefOf(to, [...filterFields(filter), ['format', format === 'exact' ? null : format]])} download>
            <Icon name="export" />
            Export: {EXPORT_FORMATS[format]}
          </a>
        </li>
      ))}
    </ul>
  );
}

function acknowledging(visit: Visit, group: NonNullable<DeadLine['group']>, cause: string) {
  const hidden: HiddenFields = [
    ['fingerprint', group.fingerprint],
    ['count', group.more ? '' : String(group.count)],
    ['at', group.acknowledged?.at.toISOString() ?? 'none'],
  ];
  if (!group.open) {
    return (
      <ActForm visit={visit} to="/dead/reopen" label={`Reopen: ${cause}`} hidden={hidden}>
        <button type="submit">Reopen</button>
      </ActForm>
    );
  }
  return (
    <ActForm visit={visit} to="/dead/acknowledge" label={`Acknowledge: ${cause}`} hidden={hidden}>
      <strong>Acknowledge the group</strong>
      <ReasonField />
      <Field label="Link to a runbook or ticket" type="url" name="link" maxlength={1_000} placeholder="https://" />
      <button type="submit">
        <Icon name="done" />
        Acknowledge
      </button>
    </ActForm>
  );
}

function retryTable(visit: Visit, groups: readonly RetryGroup[]) {
  const { base, now, visitor } = visit;
  const hrefOf = ({ fingerprint }: RetryGroup): string => eventsHref(base, { retrying: true, fingerprint });
  const columns: readonly (Column<RetryGroup> | false)[] = [
    [
      'Error',
      (group) => (
        <a class="line" href={hrefOf(group)} title={oneLine(causeOfRetry(group.sample), 240)}>
          <StoredText text={causeOfRetry(group.sample)} atMost={240} />
        </a>
      ),
      { 'data-col': 'name' },
    ],
    ['Events', (group) => bounded(group), { 'data-label': 'events', class: 'figures' }],
    [
      'Next attempt',
      ({ nextDueAt }) => (nextDueAt === null ? <span class="muted">–</span> : <ShortTime at={nextDueAt} now={now} />),
      { 'data-label': 'next attempt' },
    ],
    [
      'Newest',
      ({ newest }) => (
        <a href={eventHref(base, newest)}>
          <span class="unseen">Show newest event: </span>
          <ShortTime at={newest.receivedAt} now={now} />
        </a>
      ),
      { 'data-label': 'newest' },
    ],
    visitor.role === 'operator' && [
      <span class="unseen">Actions</span>,
      ({ fingerprint, sample }) => {
        const cause = oneLine(causeOfRetry(sample), 80);
        const hidden = [
          ['act', 'retry-now'],
          ['retrying', 'yes'],
          ['fingerprint', fingerprint],
        ] as const;
        return (
          <div class="row-acts">
            <ActForm visit={visit} to="/bulks" label={`Retry now: ${cause}`} hidden={hidden}>
              <button type="submit">
                <Icon name="rerun" />
                Retry now…
              </button>
            </ActForm>
            <Menu id={`menu-retry-${fingerprint}`} icon="actions" label={`Actions: ${cause}`}>
              {exports(visit, { retrying: true, fingerprint }, `export-retry-${fingerprint}`)}
            </Menu>
          </div>
        );
      },
      { 'data-col': 'acts' },
    ],
  ];
  return (
    <DataTable
      id="retry-groups"
      kind="groups"
      rows={groups}
      rowIs={(group) => ({ id: `retry-${group.fingerprint}`, 'data-href': hrefOf(group) })}
      columns={columns.filter((column) => column !== false)}
    />
  );
}

function lately({ recent }: Pick<DeadLine, 'recent'>) {
  const died = recent.reduce((sum, count) => sum + count, 0);
  return <Sparkline counts={recent} label={`${plural(died, 'event')} became dead in ${DAY}`} />;
}
