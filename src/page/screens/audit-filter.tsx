import type { AuditFilter } from '../../inbox/operator/audit.ts';
import { dayBefore, dayOf, spanOfDay } from '../../ops/words/audit-words.ts';

/** Which lines of the audit a URL asks for. */
export interface AuditQuery {
  readonly actor: string;
  /** `2026-01-31`, in UTC */
  readonly day: string;
  /** `null` for a day that is none */
  readonly filter: AuditFilter | null;
}

const LONGEST_NAME = 200;

export function auditQuery(url: URL): AuditQuery {
  const actor = (url.searchParams.get('actor') ?? '').trim().slice(0, LONGEST_NAME);
  const day = (url.searchParams.get('day') ?? '').trim();
  const span = day === '' ? {} : spanOfDay(day);
  return { actor, day, filter: span === null ? null : { ...span, ...(actor !== '' && { actor }) } };
}

/** The same as it stands in the URL, with something else instead. */
export function auditFields(
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

export function auditHref(base: string, fields: ReturnType<typeof auditFields>): string {
  const query = new URLSearchParams([...fields]).toString();
  return `${base}/audit${query === '' ? '' : `?${query}`}`;
}

/** Who, and on which day: in the URL, so that a link shows the same to others. */
export function AuditFilterForm({
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
