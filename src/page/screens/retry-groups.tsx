import type { RetryGroup } from '../../inbox/operator/search.ts';
import { causeOfRetry } from '../../ops/words/event-words.ts';
import { oneLine } from '../../printable.ts';
import { ActForm } from '../parts/act-form.tsx';
import { ErrorGroups } from '../parts/error-groups.tsx';
import { ExportMenu } from '../parts/export-menu.tsx';
import { eventsHref } from '../parts/screen-links.ts';
import { Time } from '../parts/time-and-age.tsx';
import type { Visit } from '../visit.ts';

/** Events that are tried again, by what their last errors said. */
export function RetryGroups({ visit, groups }: { readonly visit: Visit; readonly groups: readonly RetryGroup[] }) {
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
