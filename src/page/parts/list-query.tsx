import type { Child } from 'hono/jsx';
import type { SearchOrder, EventPage } from '../../inbox/operator/search.ts';
import { READINGS, type FindPlace } from '../../ops/find-by-text.ts';

export const ROWS = 50;

const PLACE_FIELDS = ['among', 'takenFor', 'takenName', 'before', 'beforeAt', 'found', 'limit'] as const;

export const LIST_FIELDS = ['q', 'order', ...PLACE_FIELDS] as const;

const ORDERS: readonly SearchOrder[] = ['newest', 'oldest', 'failed'];
const AMONG: readonly FindPlace['among'][] = ['dead', 'retrying', 'others'];

export interface ListQuery {
  readonly text: string | null;
  readonly order: SearchOrder;
  readonly before: number | null;
  readonly beforeAt: Date | null;
  readonly at: FindPlace | null;
  readonly limit: number;
  readonly isFurther: boolean;
  /** it continues earlier searches, and none of them has found an event */
  readonly isNoneYet: boolean;
}

export function readListQuery(url: URL): ListQuery {
  const fields = url.searchParams;
  const text = fields.get('q')?.trim() ?? '';
  const order = ORDERS.find((one) => one === fields.get('order')) ?? 'newest';
  const among = AMONG.find((one) => one === fields.get('among'));
  const takenFor = READINGS.find((one) => one === fields.get('takenFor'));
  const name = fields.get('takenName');
  const beforeAt = new Date(fields.get('beforeAt') ?? Number.NaN);
  const before = pageBefore(url);
  const isPlaced = before !== null && (order !== 'failed' || !Number.isNaN(beforeAt.getTime()));
  const at = among === undefined || takenFor === undefined || name === null ? null : { among, before, takenFor, name };
  const limit = Number(fields.get('limit') ?? ROWS);
  return {
    text: text === '' ? null : text,
    order,
    before: isPlaced ? before : null,
    beforeAt: isPlaced && order === 'failed' ? beforeAt : null,
    at,
    limit: Number.isInteger(limit) && limit >= 1 && limit <= ROWS ? limit : ROWS,
    isFurther: at !== null || isPlaced,
    isNoneYet: fields.get('found') === 'none',
  };
}

function queryWithout({ searchParams }: URL, names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...searchParams].filter(([name]) => !names.includes(name)));
}

export function furtherQuery(
  url: URL,
  { events, next, nextAt }: Omit<EventPage, 'next' | 'examined'> & { readonly next: FindPlace | number | null },
): string | null {
  if (next === null) return null;
  const { isFurther, isNoneYet } = readListQuery(url);
  const query = queryWithout(url, PLACE_FIELDS);
  if (events.length === 0 && (!isFurther || isNoneYet)) query.set('found', 'none');
  const before = typeof next === 'number' ? next : next.before;
  if (typeof next !== 'number') {
    query.set('among', next.among);
    query.set('takenFor', next.takenFor);
    query.set('takenName', next.name);
  }
  if (before !== null) query.set('before', String(before));
  if (nextAt !== undefined) query.set('beforeAt', nextAt.toISOString());
  return `?${query.toString()}`;
}

export function beginningQuery(url: URL): string {
  return `?${queryWithout(url, PLACE_FIELDS).toString()}`;
}

export function orderedQuery(url: URL, order: SearchOrder): string {
  const query = queryWithout(url, LIST_FIELDS);
  if (order !== 'newest') query.set('order', order);
  return `?${query.toString()}`;
}

/** A URL without the empty fields that forms send; `null` if it has none. */
export function withoutEmpty({ searchParams }: URL): string | null {
  const said = [...searchParams].filter(([, value]) => value.trim() !== '');
  if (said.length === searchParams.size) return null;
  const query = new URLSearchParams(said).toString();
  return query === '' ? '' : `?${query}`;
}

export function pageBefore({ searchParams }: URL): number | null {
  const before = searchParams.get('before') ?? '';
  return /^\d{1,15}$/.test(before) ? Number(before) : null;
}

interface LinkRowParts {
  readonly kind: 'ranges' | 'views';
  readonly label: string;
  readonly id?: string;
  readonly links: readonly (readonly [href: string, text: Child, isCurrent: boolean])[];
}

export function LinkRow({ kind, label, id, links }: LinkRowParts) {
  return (
    <nav class={kind} aria-label={label} id={id}>
      {links.map(([href, text, isCurrent]) => (
        <a href={href} aria-current={isCurrent ? 'true' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

export function BackLink({ href }: { readonly href: string }) {
  return (
    <p class="pages" id="back">
      <a href={href}>First page</a>
    </p>
  );
}

export function OlderLink({ href }: { readonly href: string }) {
  return (
    <p class="pages" id="older">
      <a href={href} rel="next">
        Next page
      </a>
    </p>
  );
}

export function pageLinks(url: URL, next: number | null, among: readonly [name: string, value: string][] = []) {
  const older = new URLSearchParams([...among, ['before', String(next)]]);
  return (
    <>
      {pageBefore(url) !== null && <BackLink href={`?${new URLSearchParams([...among]).toString()}`} />}
      {next !== null && <OlderLink href={`?${older.toString()}`} />}
    </>
  );
}
