import type { AuditFilter, AuditLine } from '../../inbox/operator/audit.ts';
import { auditLines, noneInWords, dayBefore, dayOf, spanOfDay } from '../../ops/audit.ts';
import { VIA_WORDS } from '../../ops/words/act-words.ts';
import { number } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { hrefOf } from '../parts/filter-fields.ts';
import { FilterWords } from '../parts/filter-words.tsx';
import { Field } from '../parts/form-fields.tsx';
import { LinkRow, pageBefore, pageLinks } from '../parts/list-query.tsx';
import { DataTable, Notice } from '../parts/list-table.tsx';
import { LongText, NO_REASON, StoredText, Time } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';

export async function auditScreen(visit: Visit): Promise<Screen> {
  const query = auditQuery(visit.url);
  return {
    title: 'Audit',
    current: '/audit',
    content: (
      <>
        {filterForm(query, visit)}
        {query.filter === null ? (
          <p class="warning" role="alert" id="problems">
            <bdi>{oneLine(query.day, 40)}</bdi> is not a valid date. Write dates as YYYY-MM-DD, such as 2026-01-31.
          </p>
        ) : (
          await linesOf(query, query.filter, visit)
        )}
      </>
    ),
  };
}

async function linesOf(query: AuditQuery, filter: AuditFilter, visit: Visit) {
  const before = pageBefore(visit.url);
  const { lines, next } = await auditLines(visit.operated.inbox, { ...filter, before, limit: 50 });
  const isFiltered = Object.keys(filter).length > 0;
  const isFurther = before !== null;
  return (
    <div id="live">
      {lines.length === 0 ? (
        <Notice>
          {noneInWords({ isFiltered, isFurther, next })}
          {!isFiltered &&
            !isFurther &&
            ' The audit records each action of an operator, such as a rerun, a pause, a prune or an export.'}
        </Notice>
      ) : (
        <DataTable
          id="audit"
          rows={lines}
          rowIs={({ seq }) => ({ id: `audit-${seq}` })}
          named={1}
          columns={[
            ['when', ({ at }) => <Time at={at} now={visit.now} />],
            ['action', ({ act }) => <StoredText text={act} atMost={60} />],
            [
              'by',
              ({ actor, via }) => (
                <>
                  <a href={auditHref(visit.base, { ...query, actor })}>
                    <StoredText text={actor} atMost={60} />
                  </a>{' '}
                  <span class="muted">{VIA_WORDS[via]}</span>
                </>
              ),
            ],
            ['about', (line) => <FilterWords filter={line.filter} visit={visit} />],
            ['outcome', ({ counts }) => <StoredText text={countsInWords(counts)} />],
            ['reason', ({ reason }) => (reason === null ? NO_REASON : <LongText text={reason} atMost={100} />)],
          ]}
        />
      )}
      {pageLinks(visit.url, next, auditFields(query))}
    </div>
  );
}

const COUNTED: Readonly<Record<string, string>> = {
  inProcessing: 'still being processed',
  worked: 'finished',
  left: 'remaining',
};

function countsInWords(counts: AuditLine['counts']): string {
  const parts = Object.entries(counts).map(([what, count]) => `${number(count)} ${COUNTED[what] ?? oneLine(what, 40)}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

interface AuditQuery {
  readonly actor: string;
  readonly day: string;
  readonly filter: AuditFilter | null;
}

const LONGEST_NAME = 200;

function auditQuery({ searchParams }: URL): AuditQuery {
  const actor = (searchParams.get('actor') ?? '').trim().slice(0, LONGEST_NAME);
  const day = (searchParams.get('day') ?? '').trim();
  const span = day === '' ? {} : spanOfDay(day);
  return { actor, day, filter: span === null ? null : { ...span, ...(actor !== '' && { actor }) } };
}

function auditFields({ actor, day }: Pick<AuditQuery, 'actor' | 'day'>): [name: string, value: string][] {
  const fields: [string, string][] = [
    ['actor', actor],
    ['day', day],
  ];
  return fields.filter(([, value]) => value !== '');
}

function auditHref(base: string, query: Pick<AuditQuery, 'actor' | 'day'>): string {
  return hrefOf(`${base}/audit`, auditFields(query));
}

function filterForm(query: AuditQuery, { base, now }: Visit) {
  const days = [
    ['', 'All days'],
    [dayOf(now), 'Today'],
    [dayBefore(now), 'Yesterday'],
  ] as const;
  return (
    <>
      <LinkRow
        kind="ranges"
        label="Day"
        links={days.map(([day, word]) => [auditHref(base, { ...query, day }), word, day === query.day])}
      />
      <form method="get" action={`${base}/audit`} class="filters panel" id="filters" role="search" aria-label="Filter">
        <div class="row">
          <Field
            label="By"
            name="actor"
            value={query.actor}
            placeholder="ada"
            maxlength={LONGEST_NAME}
            autocomplete="off"
            spellcheck={false}
          />
          <Field
            label="Day (UTC)"
            type="date"
            name="day"
            value={query.filter === null ? '' : query.day}
            max={dayOf(now)}
          />
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
