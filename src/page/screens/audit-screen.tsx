import type { AuditLine } from '../../inbox/operator/audit.ts';
import { auditLines } from '../../ops/audit.ts';
import { FilterWords } from '../parts/filter-words.tsx';
import { oneLine } from '../../printable.ts';
import { number } from '../../ops/words/format.ts';
import { OlderLink, pageOf } from '../parts/older-link.tsx';
import { LongText, StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time-and-age.tsx';
import type { Screen, Visit } from '../visit.ts';

const VIA = { code: 'a program', cli: 'the command line', page: 'this page' } as const satisfies Record<
  AuditLine['via'],
  string
>;

/** What operators did, the newest first. */
export async function auditScreen(visit: Visit): Promise<Screen> {
  const { before } = pageOf(visit.url);
  const { lines, next } = await auditLines(visit.operated.inbox, { before, limit: 50 });
  return {
    title: 'Audit',
    current: '/audit',
    content: (
      <div id="live">
        {lines.length === 0 ? (
          <p class="notice" id="none">
            {before === null
              ? 'No operator has done anything yet. Each rerun, discard, hurry, prune, erase, export, import and backup will stand here.'
              : 'There are no older lines.'}
          </p>
        ) : (
          <table class="list" id="audit">
            <thead>
              <tr>
                <th scope="col">when</th>
                <th scope="col">act</th>
                <th scope="col">by</th>
                <th scope="col">about</th>
                <th scope="col">outcome</th>
                <th scope="col">why</th>
              </tr>
            </thead>
            <tbody>
              {lines.map((line) => (
                <AuditRow line={line} visit={visit} />
              ))}
            </tbody>
          </table>
        )}
        {next !== null && <OlderLink before={next} />}
      </div>
    ),
  };
}

function AuditRow({ line, visit }: { readonly line: AuditLine; readonly visit: Visit }) {
  const { seq, at, act, actor, via, filter, counts, reason } = line;
  return (
    <tr id={`audit-${seq}`}>
      <td data-label="when">
        <Time at={at} now={visit.now} />
      </td>
      <th scope="row">
        <StoredText text={act} atMost={60} />
      </th>
      <td data-label="by">
        <StoredText text={actor} atMost={60} /> <span class="muted">through {VIA[via]}</span>
      </td>
      <td data-label="about">
        <FilterWords filter={filter} visit={visit} />
      </td>
      <td data-label="outcome">
        <StoredText text={countsInWords(counts)} />
      </td>
      <td data-label="why">
        {reason === null ? <span class="muted">not said</span> : <LongText text={reason} atMost={100} />}
      </td>
    </tr>
  );
}

/** Counts whose names are those of a program. */
const COUNTED = new Map([['inProcessing', 'left in processing']]);

/** `120 done, 8 not needed` */
function countsInWords(counts: AuditLine['counts']): string {
  const parts = Object.entries(counts).map(
    ([what, count]) => `${number(count)} ${oneLine(COUNTED.get(what) ?? what, 40)}`,
  );
  return parts.length === 0 ? 'nothing counted' : parts.join(', ');
}
