import type { Child } from 'hono/jsx';
import type { DeadGroup, EventSummary, RetryGroup } from '../../inbox/operator/search.ts';
import { MOST_GROUPS } from '../../inbox/rules/error-groups.ts';
import { deadGroups, retryGroups } from '../../ops/find.ts';
import { causeOfDeath, causeOfRetry } from '../../ops/words/event-words.ts';
import { number, bounded, withDead } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { ActForm, ExportMenu, mayExport } from '../parts/act-form.tsx';
import { eventsHref, eventHref } from '../parts/filter-fields.ts';
import { ChooseHead, ListTable } from '../parts/list-table.tsx';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time.tsx';
import type { Screen, Visit } from '../visit.ts';

/** Dead events by what their last errors said, the largest group first; then those that are tried again. */
export async function deadEventsScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const isOperator = visit.visitor.role === 'operator';
  const [groups, retries] = await Promise.all([deadGroups(inbox), retryGroups(inbox)]);
  return {
    title: 'Dead events',
    tab: withDead(deadIn(groups), 'Dead events'),
    current: '/dead',
    content: (
      <div id="live">
        {groups.length === 0 ? (
          <p class="notice" id="none">
            No event is dead. Dead events appear here, grouped by last error.
          </p>
        ) : (
          <>
            <p id="intro">
              No handler runs for these events unless {isOperator ? 'you rerun them' : 'an operator reruns them'}. All
              events of a group have the same last error, apart from ids and numbers.
              {isOperator && ' Each action shows a preview first.'}
            </p>
            {groups.length >= MOST_GROUPS && (
              <p class="notice" id="more">
                Only the {number(groups.length)} largest groups are shown.
              </p>
            )}
            {mayExport(visit) && (
              <section class="actions" id="acts" aria-label="Actions on all dead events">
                <ExportMenu visit={visit} id="export-all" what="all dead events" filter={{ states: ['dead'] }} />
              </section>
            )}
            <Groups visit={visit} groups={groups} />
            <ChosenGroups visit={visit} />
          </>
        )}
        {retries.length > 0 && <RetryGroups visit={visit} groups={retries} />}
      </div>
    ),
  };
}

function deadIn(groups: readonly DeadGroup[]) {
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  return { count, more: groups.some(({ more }) => more) };
}

function Groups({ visit, groups }: { readonly visit: Visit; readonly groups: readonly DeadGroup[] }) {
  return (
    <ErrorGroups
      visit={visit}
      id="groups"
      groups={groups}
      between={['reason', 'oldest received']}
      {...(mayExport(visit) && { choiceOf: CHOICE })}
      rowOf={(group) => {
        const { fingerprint, reason, oldest } = group;
        const cause = causeOfDeath(group);
        return {
          id: `group-${fingerprint}`,
          href: eventsHref(visit.base, { states: ['dead'], fingerprint }),
          cause,
          cells: [<span class="state state-dead">{reason}</span>, <Time at={oldest.receivedAt} now={visit.now} />],
          acts: (
            <>
              <GroupForm visit={visit} fingerprint={fingerprint} act="rerun" cause={cause} />
              <GroupForm visit={visit} fingerprint={fingerprint} act="discard" cause={cause} />
              <ExportMenu
                visit={visit}
                id={`export-${fingerprint}`}
                what="group"
                label={oneLine(cause, 80)}
                filter={{ states: ['dead'], fingerprint }}
              />
            </>
          ),
        };
      }}
    />
  );
}

/** The form of the boxes. */
const CHOICE = 'choice';

/** What can be done with the groups that are chosen: what each of them has, in one file. */
function ChosenGroups({ visit }: { readonly visit: Visit }) {
  if (!mayExport(visit)) return <></>;
  return (
    <ActForm visit={visit} to="/maintenance/export" id={CHOICE} label="Actions on the selected groups">
      <input type="hidden" name="state" value="dead" />
      <div class="actions chosen" id="chosen">
        <span id="chosen-count">Selected:</span>
        <ExportMenu visit={visit} id="export-chosen" what="" />
        <span class="muted">You can rerun or discard only one group at a time.</span>
      </div>
    </ActForm>
  );
}

/** Leads to a preview: which events they are is frozen, and nothing else happens. */
function GroupForm({
  visit,
  fingerprint,
  act,
  cause,
}: {
  readonly visit: Visit;
  readonly fingerprint: string;
  readonly act: 'rerun' | 'discard';
  readonly cause: string;
}) {
  const word = act === 'rerun' ? 'Rerun' : 'Discard';
  return (
    <ActForm visit={visit} to="/bulks" label={`${word} group: ${oneLine(cause, 80)}`}>
      <input type="hidden" name="act" value={act} />
      <input type="hidden" name="fingerprint" value={fingerprint} />
      <button type="submit">{word} group…</button>
    </ActForm>
  );
}

/** Events whose last errors say the same. */
type ErrorGroup = Parameters<typeof bounded>[0] & { readonly newest: EventSummary; readonly fingerprint: string };

interface GroupRow {
  readonly id: string;
  /** where all events of the group are listed */
  readonly href: string;
  readonly cause: string;
  /** one for each of `between` */
  readonly cells: readonly Child[];
  /** what an operator can do */
  readonly acts: Child;
}

interface ErrorGroupsParts<Group> {
  readonly visit: Visit;
  readonly id: string;
  readonly groups: readonly Group[];
  /** the columns that stand between the count and the newest event */
  readonly between: readonly string[];
  readonly rowOf: (group: Group) => GroupRow;
  /** the id of the form that boxes belong to, one for each group; without it nothing can be chosen */
  readonly choiceOf?: string;
}

/** A table of groups, each with its error, its count, its newest event, and what an operator can do about all of it. */
function ErrorGroups<Group extends ErrorGroup>({
  visit,
  id,
  groups,
  between,
  rowOf,
  choiceOf,
}: ErrorGroupsParts<Group>) {
  const { base, now } = visit;
  const mayAct = visit.visitor.role === 'operator';
  const choose = <ChooseHead />;
  const columns = [
    ...(choiceOf === undefined ? [] : [choose]),
    'error',
    'events',
    ...between,
    'newest received',
    ...(mayAct ? ['action'] : []),
  ];
  return (
    <ListTable id={id} columns={columns}>
      {groups.map((group) => {
        const row = rowOf(group);
        return (
          <tr id={row.id} data-href={row.href}>
            {choiceOf !== undefined && (
              <td data-col="choose">
                <input
                  type="checkbox"
                  name="fingerprint"
                  value={group.fingerprint}
                  form={choiceOf}
                  aria-label={`Select the group ${oneLine(row.cause, 80)}`}
                />
              </td>
            )}
            <th scope="row">
              <a href={row.href}>
                <StoredText text={row.cause} atMost={240} />
              </a>
            </th>
            <td data-label="events">{bounded(group)}</td>
            {between.map((name, at) => (
              <td data-label={name}>{row.cells[at]}</td>
            ))}
            <td data-label="newest received">
              <Time at={group.newest.receivedAt} now={now} /> <a href={eventHref(base, group.newest)}>show newest</a>
            </td>
            {mayAct && (
              <td data-label="action" class="actions">
                {row.acts}
              </td>
            )}
          </tr>
        );
      })}
    </ListTable>
  );
}

/** Events that are tried again, by what their last errors said. */
function RetryGroups({ visit, groups }: { readonly visit: Visit; readonly groups: readonly RetryGroup[] }) {
  return (
    <section class="panel" id="retries">
      <h2>Waiting for a retry</h2>
      <ErrorGroups
        visit={visit}
        id="retry-groups"
        groups={groups}
        between={['next attempt']}
        rowOf={({ fingerprint, sample, nextDueAt }) => {
          const cause = causeOfRetry(sample);
          return {
            id: `retry-${fingerprint}`,
            href: eventsHref(visit.base, { retrying: true, fingerprint }),
            cause,
            cells: [nextDueAt === null ? <span class="muted">–</span> : <Time at={nextDueAt} now={visit.now} />],
            acts: (
              <>
                <ActForm visit={visit} to="/bulks" label={`Retry group now: ${oneLine(cause, 80)}`}>
                  <input type="hidden" name="act" value="retry-now" />
                  <input type="hidden" name="retrying" value="yes" />
                  <input type="hidden" name="fingerprint" value={fingerprint} />
                  <button type="submit">Retry group now…</button>
                </ActForm>
                <ExportMenu
                  visit={visit}
                  id={`export-retry-${fingerprint}`}
                  what="group"
                  label={oneLine(cause, 80)}
                  filter={{ retrying: true, fingerprint }}
                />
              </>
            ),
          };
        }}
      />
    </section>
  );
}
