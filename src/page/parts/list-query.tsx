import type { SearchOrder, EventPage } from '../../inbox/operator/search.ts';
import { READINGS, type FindPlace } from '../../ops/find-by-text.ts';

/** As many events as a list shows at first. */
export const ROWS = 50;

/** What stands in the URL of a list of events beside its filter. */
export const LIST_FIELDS = [
  'q',
  'order',
  'among',
  'takenFor',
  'takenName',
  'before',
  'beforeAt',
  'found',
  'limit',
] as const;

/** Those that say from where on. */
const PLACE_FIELDS = ['among', 'takenFor', 'takenName', 'before', 'beforeAt', 'found', 'limit'] as const;

const ORDERS: readonly SearchOrder[] = ['newest', 'oldest', 'failed'];
const AMONG: readonly FindPlace['among'][] = ['dead', 'retrying', 'others'];

/** Which part of a list a URL asks for. */
export interface ListQuery {
  /** what the search box says */
  readonly text: string | null;
  readonly order: SearchOrder;
  /** where it begins; from the first on unless it says all that a place needs */
  readonly before: number | null;
  readonly beforeAt: Date | null;
  /** the same for what the search box has found */
  readonly at: FindPlace | null;
  readonly limit: number;
  /** it goes on from another one */
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
  const hasTime = !Number.isNaN(beforeAt.getTime());
  const { before } = pageOf(url);
  const isPlaced = order === 'failed' ? before !== null && hasTime : before !== null;
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

/** The URL of what comes next; `null` where nothing does. */
export function furtherQuery(
  url: URL,
  { events, next, nextAt }: Omit<EventPage, 'next' | 'examined'> & { readonly next: FindPlace | number | null },
): string | null {
  if (next === null) return null;
  const { isFurther, isNoneYet } = readListQuery(url);
  const query = new URLSearchParams(url.searchParams);
  for (const name of PLACE_FIELDS) query.delete(name);
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

/** The URL of the same list from its first row on. */
export function beginningQuery(url: URL): string {
  const query = new URLSearchParams(url.searchParams);
  for (const name of PLACE_FIELDS) query.delete(name);
  return `?${query.toString()}`;
}

/** The URL of the same list in another order, from its beginning. */
export function orderedQuery(url: URL, order: SearchOrder): string {
  const query = new URLSearchParams(url.searchParams);
  for (const name of LIST_FIELDS) query.delete(name);
  if (order !== 'newest') query.set('order', order);
  return `?${query.toString()}`;
}

/** A URL without the fields that say nothing, as forms send those that were left alone; `null` where each says something. */
export function withoutEmpty({ searchParams }: URL): string | null {
  const said = [...searchParams].filter(([, value]) => value.trim() !== '');
  if (said.length === searchParams.size) return null;
  const query = new URLSearchParams(said).toString();
  return query === '' ? '' : `?${query}`;
}

/** Where a page of a long list begins, as the URL says; from the newest on unless it says a number. */
export function pageOf(url: URL): { readonly before: number | null } {
  const asked = url.searchParams.get('before') ?? '';
  const before = /^\d{1,15}$/.test(asked) ? Number(asked) : null;
  return { before };
}

/** To the first row of a list. */
export function BackLink({ href }: { readonly href: string }) {
  return (
    <p class="pages" id="back">
      <a href={href}>Back to the start</a>
    </p>
  );
}

/**
 * Links to the rows after the last one of this page, and back to the first page.
 *
 * @param among - what else the URL says: what the list is of
 */
export function PageLinks({
  url,
  next,
  among = [],
}: {
  readonly url: URL;
  /** where the next page begins; `null` if the list ends here */
  readonly next: number | null;
  readonly among?: readonly [name: string, value: string][];
}) {
  const older = new URLSearchParams([...among, ['before', String(next)]]);
  return (
    <>
      {pageOf(url).before !== null && <BackLink href={`?${new URLSearchParams([...among]).toString()}`} />}
      {next !== null && (
        <p class="pages" id="older">
          <a href={`?${older.toString()}`} rel="next">
            Older
          </a>
        </p>
      )}
    </>
  );
}
