import type { DeadGroup } from '../../inbox/operator/search.ts';
import { deadGroups } from '../../ops/find.ts';
import { ActForm } from '../parts/act-form.tsx';
import { oneLine } from '../../printable.ts';
import { bounded, plural } from '../../ops/words/format.ts';
import { eventHref, eventsHref } from '../parts/screen-links.ts';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time-and-age.tsx';
import type { Screen, Visit } from '../visit.ts';
import { retryGroups } from '../../ops/retry-groups.ts';
import { RetryGroups } from './retry-groups.tsx';
import { causeOfDeath } from '../../ops/words/event-words.ts';

/** As many groups as are told apart. */
const MOST_GROUPS = 200;

/** Dead events by what their last errors said, the largest group first; then those that are tried again. */
export async function deadLettersScreen(visit: Visit): Promise<Screen> {
  const { inbox } = visit.operated;
  const [groups, retries] = await Promise.all([deadGroups(inbox), retryGroups(inbox)]);
  return {
    title: 'Dead letters',
    current: '/dead',
    content: (
      <div id="live">
        {groups.length === 0 ? (
          <p class="notice" id="none">
            No event is dead. When one is, it stands here with all whose last errors say the same.
          </p>
        ) : (
          <>
            <p id="intro">
              Nobody handles these events unless you act. Those whose last errors say the same, but for ids and numbers,
              are one group. Nothing happens before you have seen how many events an act is about.
            </p>
            {groups.length >= MOST_GROUPS && (
              <p class="notice" id="more">
                These are the {plural(groups.length, 'group')} that were found first; there may be more of them.
              </p>
            )}
            <Groups visit={visit} groups={groups} />
          </>
        )}
        {retries.length > 0 && <RetryGroups visit={visit} groups={retries} />}
      </div>
    ),
  };
}

function Groups({ visit, groups }: { readonly visit: Visit; readonly groups: readonly DeadGroup[] }) {
  const acts = visit.visitor.role === 'operator';
  return (
    <table class="list" id="groups">
      <thead>
        <tr>
          <th scope="col">error</th>
          <th scope="col">events</th>
          <th scope="col">reason</th>
          <th scope="col">oldest received</th>
          <th scope="col">newest received</th>
          {acts && <th scope="col">act</th>}
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <GroupRow visit={visit} group={group} acts={acts} />
        ))}
      </tbody>
    </table>
  );
}

function GroupRow({
  visit,
  group,
  acts,
}: {
  readonly visit: Visit;
  readonly group: DeadGroup;
  readonly acts: boolean;
}) {
  const { base, now } = visit;
  const { fingerprint, reason, newest, oldest } = group;
  const cause = causeOfDeath(group);
  const all = eventsHref(base, { states: ['dead'], fingerprint });
  return (
    <tr id={`group-${fingerprint}`} data-href={all}>
      <th scope="row">
        <a href={all}>
          <StoredText text={cause} atMost={240} />
        </a>
      </th>
      <td data-label="events">{bounded(group)}</td>
      <td data-label="reason">
        <span class="state state-dead">{reason}</span>
      </td>
      <td data-label="oldest received">
        <Time at={oldest.receivedAt} now={now} />
      </td>
      <td data-label="newest received">
        <Time at={newest.receivedAt} now={now} /> <a href={eventHref(base, newest)}>see the newest</a>
      </td>
      {acts && (
        <td data-label="act" class="actions">
          <GroupForm visit={visit} fingerprint={fingerprint} act="rerun" cause={cause} />
          <GroupForm visit={visit} fingerprint={fingerprint} act="discard" cause={cause} />
        </td>
      )}
    </tr>
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
