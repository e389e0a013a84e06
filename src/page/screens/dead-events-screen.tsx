import type { DeadGroup } from '../../inbox/operator/search.ts';
import { deadGroups } from '../../ops/find.ts';
import { MOST_GROUPS } from '../../inbox/rules/error-groups.ts';
import { ActForm } from '../parts/act-form.tsx';
import { oneLine } from '../../printable.ts';
import { number } from '../../ops/words/format.ts';
import { ErrorGroups } from '../parts/error-groups.tsx';
import { ExportMenu, mayExport } from '../parts/export-menu.tsx';
import { eventsHref } from '../parts/screen-links.ts';
import { withDead } from '../../ops/words/tab-words.ts';
import { Time } from '../parts/time-and-age.tsx';
import type { Screen, Visit } from '../visit.ts';
import { retryGroups } from '../../ops/retry-groups.ts';
import { RetryGroups } from './retry-groups.tsx';
import { causeOfDeath } from '../../ops/words/event-words.ts';

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
