import type { AuditFilter, AuditLine, AuditPage } from '../../inbox/operator/audit.ts';
import { auditLines, noneInWords, dayBefore, dayOf, spanOfDay } from '../../ops/audit.ts';
import { number } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { FilterWords } from '../parts/filter-words.tsx';
import { pageOf, PageLinks } from '../parts/list-query.tsx';
import { LongText, StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time.tsx';
import type { Screen, Visit } from '../visit.ts';

const VIA = { code: 'a program', cli: 'the command line', page: 'this page' } as const satisfies Record<
  AuditLine['via'],
  string
>;

/** What operators did, the newest first. */
export async function auditScreen(visit: Visit): Promise<Screen> {
  const { base, now, url } = visit;
  const query = auditQuery(url);
  return {
    title: 'Audit',
    current: '/audit',
    content: (
      <>
        <AuditFilterForm query={query} base={base} now={now} />
        {query.filter === null ? (
          <p class="warning" role="alert" id="problems">
            <bdi>{oneLine(query.day, 40)}</bdi> is not a valid date. Write dates as YYYY-MM-DD, such as 2026-01-31.
          </p>
        ) : (
          <Lines query={query} filter={query.filter} page={await pageOfAudit(visit, query.filter)} visit={visit} />
        )}
      </>
    ),
  };
}

function pageOfAudit({ url, operated }: Visit, filter: AuditFilter): Promise<AuditPage> {
  return auditLines(operated.inbox, { ...filter, before: pageOf(url).before, limit: 50 });
}

function Lines({
  query,
  filter,
  page: { lines, next },
  visit,
}: {
  readonly query: AuditQuery;
  readonly filter: AuditFilter;
  readonly page: AuditPage;
  readonly visit: Visit;
}) {
  const isFiltered = Object.keys(filter).length > 0;
  const isFurther = pageOf(visit.url).before !== null;
  return (
    <div id="live">
      {lines.length === 0 ? (
        <p class="notice" id="none">
          {noneInWords({ isFiltered, isFurther, next })}
          {!isFiltered &&
            !isFurther &&
            ' Every action of an operator appears here, such as a rerun, a pause, a prune or an export.'}
        </p>
      ) : (
        <table class="list" id="audit">
          <thead>
            <tr>
              <th scope="col">when</th>
              <th scope="col">action</th>
              <th scope="col">by</th>
              <th scope="col">about</th>
              <th scope="col">outcome</th>
              <th scope="col">reason</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <AuditRow line={line} query={query} visit={visit} />
            ))}
          </tbody>
        </table>
      )}
      <PageLinks url={visit.url} next={next} among={auditFields(query)} />
    </div>
  );
}

function AuditRow({
  line,
  query,
  visit,
}: {
  readonly line: AuditLine;
  readonly query: AuditQuery;
  readonly visit: Visit;
}) {
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
        <a href={auditHref(visit.base, auditFields(query, { actor }))}>
          <StoredText text={actor} atMost={60} />
        </a>{' '}
        <span class="muted">through {VIA[via]}</span>
      </td>
      <td data-label="about">
        <FilterWords filter={filter} visit={visit} />
      </td>
      <td data-label="outcome">
        <StoredText text={countsInWords(counts)} />
      </td>
      <td data-label="reason">
        {reason === null ? <span class="muted">no reason given</span> : <LongText text={reason} atMost={100} />}
      </td>
    </tr>
  );
}

/** Counts whose names are those of a program. */
const COUNTED = new Map([['inProcessing', 'still being processed']]);

/** `120 done, 8 not needed` */
function countsInWords(counts: AuditLine['counts']): string {
  const parts = Object.entries(counts).map(
    ([what, count]) => `${number(count)} ${oneLine(COUNTED.get(what) ?? what, 40)}`,
  );
  return parts.length === 0 ? 'none' : parts.join(', ');
}

/** Which lines of the audit a URL asks for. */
interface AuditQuery {
  readonly actor: string;
  /** `2026-01-31`, in UTC */
  readonly day: string;
  /** `null` for a day that is none */
  readonly filter: AuditFilter | null;
}

const LONGEST_NAME = 200;

function auditQuery(url: URL): AuditQuery {
  const actor = (url.searchParams.get('actor') ?? '').trim().slice(0, LONGEST_NAME);
  const day = (url.searchParams.get('day') ?? '').trim();
  const span = day === '' ? {} : spanOfDay(day);
  return { actor, day, filter: span === null ? null : { ...span, ...(actor !== '' && { actor }) } };
}

/** The same as it stands in the URL, with something else instead. */
function auditFields(
  query: AuditQuery,
  instead: Partial<Pick<AuditQuery, 'actor' | 'day'>> = {},
): readonly [name: string, value: string][] {
  const { actor, day } = { ...query, ...instead };
  const fields: readonly [string, string][] = [
    ['actor', actor],
    ['day', day],
  ];
  return fields.filter(([, value]) => value !== '');
}

function auditHref(base: string, fields: ReturnType<typeof auditFields>): string {
  const query = new URLSearchParams([...fields]).toString();
  return `${base}/audit${query === '' ? '' : `?${query}`}`;
}

/** Who, and on which day: in the URL, so that a link shows the same to others. */
function AuditFilterForm({
  query,
  base,
  now,
}: {
  readonly query: AuditQuery;
  readonly base: string;
  readonly now: Date;
}) {
  const days = [
    ['', 'Every day'],
    [dayOf(now), 'Today'],
    [dayBefore(now), 'Yesterday'],
  ] as const;
  return (
    <>
      <nav class="ranges" aria-label="Day">
        {days.map(([day, word]) => (
          <a href={auditHref(base, auditFields(query, { day }))} aria-current={day === query.day ? 'true' : undefined}>
            {word}
          </a>
        ))}
      </nav>
      <form method="get" action={`${base}/audit`} class="filters panel" id="filters" role="search" aria-label="Filter">
        <div class="row">
          <label class="field">
            <span>By</span>{' '}
            <input
              type="text"
              name="actor"
              value={query.actor}
              placeholder="ada"
              maxlength={LONGEST_NAME}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
          <label class="field">
            <span>On this day (UTC)</span>{' '}
            <input type="date" name="day" value={query.filter === null ? '' : query.day} max={dayOf(now)} />
          </label>
          <div class="actions">
            <button type="submit" class="primary">
              Filter
            </button>
            <a href={`${base}/audit`}>Clear</a>
          </div>
        </div>
      </form>
    </>
  );
}
