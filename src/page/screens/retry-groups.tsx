import type { RetryGroup } from '../../inbox/operator/search.ts';
import { causeOfRetry } from '../../ops/words/event-words.ts';
import { bounded } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { ActForm } from '../parts/act-form.tsx';
import { eventHref, eventsHref } from '../parts/screen-links.ts';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time-and-age.tsx';
import type { Visit } from '../visit.ts';

/** Events that are tried again, by what their last errors said. */
export function RetryGroups({ visit, groups }: { readonly visit: Visit; readonly groups: readonly RetryGroup[] }) {
  const acts = visit.visitor.role === 'operator';
  return (
    <section class="panel" id="retries">
      <h2>Not dead yet: tried again later</h2>
      <table class="list" id="retry-groups">
        <thead>
          <tr>
            <th scope="col">error</th>
            <th scope="col">events</th>
            <th scope="col">next attempt</th>
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
    </section>
  );
}

function GroupRow({
  visit,
  group,
  acts,
}: {
  readonly visit: Visit;
  readonly group: RetryGroup;
  readonly acts: boolean;
}) {
  const { base, now } = visit;
  const { fingerprint, sample, newest, nextDueAt } = group;
  const cause = causeOfRetry(sample);
  const all = eventsHref(base, { retrying: true, fingerprint });
  return (
    <tr id={`retry-${fingerprint}`} data-href={all}>
      <th scope="row">
        <a href={all}>
          <StoredText text={cause} atMost={240} />
        </a>
      </th>
      <td data-label="events">{bounded(group)}</td>
      <td data-label="next attempt">
        {nextDueAt === null ? <span class="muted">–</span> : <Time at={nextDueAt} now={now} />}
      </td>
      <td data-label="newest received">
        <Time at={newest.receivedAt} now={now} /> <a href={eventHref(base, newest)}>see the newest</a>
      </td>
      {acts && (
        <td data-label="act" class="actions">
          <ActForm visit={visit} to="/bulks" label={`Try group now: ${oneLine(cause, 80)}`}>
            <input type="hidden" name="act" value="hurry" />
            <input type="hidden" name="retrying" value="yes" />
            <input type="hidden" name="fingerprint" value={fingerprint} />
            <button type="submit">Try group now…</button>
          </ActForm>
        </td>
      )}
    </tr>
  );
}
