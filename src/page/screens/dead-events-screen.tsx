import type { Act } from '../../inbox/operator/acts.ts';
import type { DeadGroup, EventFilter, RetryGroup } from '../../inbox/operator/search.ts';
import { MOST_GROUPS } from '../../inbox/rules/error-groups.ts';
import { deadGroups, retryGroups } from '../../ops/find.ts';
import { causeOfDeath, causeOfRetry } from '../../ops/words/event-words.ts';
import { number, bounded, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { eventsHref, eventHref } from '../parts/filter-fields.ts';
import { ChooseHead, DataTable, type Column, Panel, Notice, actsColumn } from '../parts/list-table.tsx';
import { StoredText, Time } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { mayExport, ExportMenu } from '../parts/export-menu.tsx';
import { ActForm } from '../parts/form-fields.tsx';

export async function deadEventsScreen(visit: Visit): Promise<Screen> {
  const { operated, visitor, now } = visit;
  const isOperator = visitor.role === 'operator';
  const [groups, retries] = await Promise.all([deadGroups(operated.inbox), retryGroups(operated.inbox)]);
  const dead = { count: groups.reduce((sum, { count }) => sum + count, 0), more: groups.some(({ more }) => more) };
  return {
    title: 'Dead events',
    tab: withDead(dead, 'Dead events'),
    current: '/dead',
    content: (
      <div id="live">
        {groups.length === 0 ? (
          <Notice>No event is dead. Dead events appear here, grouped by last error.</Notice>
        ) : (
          <>
            <p id="intro">
              No handler runs for these events unless {isOperator ? 'you rerun them' : 'an operator reruns them'}. All
              events of a group have the same last error, apart from ids and numbers.
              {isOperator && ' Each action shows a preview first.'}
            </p>
            {groups.length >= MOST_GROUPS && (
              <Notice id="more">Only the {number(groups.length)} largest groups are shown.</Notice>
            )}
            {mayExport(visit) && (
              <section class="actions" id="acts" aria-label="Actions on all dead events">
                <ExportMenu visit={visit} id="export-all" what="all dead events" filter={{ states: ['dead'] }} />
              </section>
            )}
            {groupTable<DeadGroup>(visit, groups, {
              id: 'groups',
              prefix: '',
              causeOf: causeOfDeath,
              filter: { states: ['dead'] },
              acts: [
                ['rerun', 'Rerun group'],
                ['discard', 'Discard group'],
              ],
              between: [
                ['reason', ({ reason }) => <span class="state state-dead">{reason}</span>],
                ['oldest received', ({ oldest }) => <Time at={oldest.receivedAt} now={now} />],
              ],
              choice: CHOICE,
            })}
            {mayExport(visit) && (
              <ActForm
                visit={visit}
                to="/maintenance/export"
                id={CHOICE}
                label="Actions on the selected groups"
                hidden={[['state', 'dead']]}
              >
                <div class="actions chosen" id="chosen">
                  <span id="chosen-count">Selected:</span>
                  <ExportMenu visit={visit} id="export-chosen" what="" />
                  <span class="muted">You can rerun or discard only one group at a time.</span>
                </div>
              </ActForm>
            )}
          </>
        )}
        {retries.length > 0 && (
          <Panel id="retries" title="Waiting for a retry">
            {groupTable<RetryGroup>(visit, retries, {
              id: 'retry-groups',
              prefix: 'retry-',
              causeOf: ({ sample }) => causeOfRetry(sample),
              filter: { retrying: true },
              acts: [['retry-now', 'Retry group now']],
              between: [
                [
                  'next attempt',
                  ({ nextDueAt }) =>
                    nextDueAt === null ? <span class="muted">–</span> : <Time at={nextDueAt} now={now} />,
                ],
              ],
            })}
          </Panel>
        )}
      </div>
    ),
  };
}

const CHOICE = 'choice';

interface GroupKind<Group> {
  readonly id: string;
  readonly prefix: string;
  readonly causeOf: (group: Group) => string;
  readonly filter: EventFilter;
  /** what operators may do with a group; each action leads to a preview, which freezes the list of events */
  readonly acts: readonly (readonly [act: Act, words: string])[];
  readonly between: readonly Column<Group>[];
  readonly choice?: string;
}

function groupTable<Group extends DeadGroup | RetryGroup>(
  visit: Visit,
  groups: readonly Group[],
  { id, prefix, causeOf, filter, acts, between, choice }: GroupKind<Group>,
) {
  const { base, now, visitor } = visit;
  const isChosen = choice !== undefined && mayExport(visit);
  const hrefOf = ({ fingerprint }: Group): string => eventsHref(base, { ...filter, fingerprint });
  const box: Column<Group> = [
    <ChooseHead />,
    (group) => (
      <input
        type="checkbox"
        name="fingerprint"
        value={group.fingerprint}
        form={choice}
        aria-label={`Select the group ${oneLine(causeOf(group), 80)}`}
      />
    ),
    { 'data-col': 'choose' },
  ];
  const action = actsColumn('action', (group: Group) => {
    const { fingerprint } = group;
    const cause = oneLine(causeOf(group), 80);
    const retrying = filter.retrying === true ? [['retrying', 'yes'] as const] : [];
    const menu = { id: `export-${prefix}${fingerprint}`, label: cause, filter: { ...filter, fingerprint } };
    return (
      <>
        {acts.map(([act, words]) => (
          <ActForm
            visit={visit}
            to="/bulks"
            label={`${words}: ${cause}`}
            hidden={[['act', act], ...retrying, ['fingerprint', fingerprint]]}
          >
            <button type="submit">{words}…</button>
          </ActForm>
        ))}
        <ExportMenu visit={visit} what="group" {...menu} />
      </>
    );
  });
  return (
    <DataTable
      id={id}
      rows={groups}
      rowIs={(group) => ({ id: `${prefix || 'group-'}${group.fingerprint}`, 'data-href': hrefOf(group) })}
      named={isChosen ? 1 : 0}
      columns={[
        ...(isChosen ? [box] : []),
        [
          'error',
          (group) => (
            <a href={hrefOf(group)}>
              <StoredText text={causeOf(group)} atMost={240} />
            </a>
          ),
        ],
        ['events', (group) => bounded(group)],
        ...between,
        [
          'newest received',
          ({ newest }) => (
            <>
              <Time at={newest.receivedAt} now={now} /> <a href={eventHref(base, newest)}>show newest</a>
            </>
          ),
        ],
        ...(visitor.role === 'operator' ? [action] : []),
      ]}
    />
  );
}
