import type { Inbox } from '../../inbox/contract.ts';
import { listEvents } from '../../ops/index.ts';
import { oneLine } from '../../printable.ts';
import { usageError } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { pagesOf } from './event-pages.ts';

/** Shorter ends belong to very many ids. */
const LEAST_END = 4;
/** An error lists so many ids to choose from. */
const MOST_CANDIDATES = 5;
/** Stands in a list for the middle of an id. */
export const ELLIPSIS = '…';

/**
 * Finds the id with this end, for ids that a list has shortened: `evt_…wYb2`, `…wYb2` or `wYb2`. Returns `null` if no id
 * matches, and for a whole id. No index has the ends, so it searches all events.
 *
 * @throws CommandError where several ids match
 */
export async function wholeId(
  inbox: Inbox,
  said: string,
  { endpoint }: { readonly endpoint?: string },
): Promise<string | null> {
  const at = said.lastIndexOf(ELLIPSIS);
  const begin = at === -1 ? '' : said.slice(0, said.indexOf(ELLIPSIS));
  const end = at === -1 ? said : said.slice(at + ELLIPSIS.length);
  if (end.length < LEAST_END) return null;
  const where = endpoint === undefined ? {} : { endpoint };
  const { events } = await listEvents(inbox, { id: said, ...where }, { limit: 1 });
  if (events.length > 0) return null;

  const ids = new Set<string>();
  const progress = progressBar();
  try {
    for await (const page of pagesOf(
      inbox,
      { text: end, ...where },
      { most: Infinity, signal: interruption(), progress },
    )) {
      for (const { id } of page.events) if (id.startsWith(begin) && id.endsWith(end)) ids.add(id);
      if (ids.size > MOST_CANDIDATES) break;
    }
  } finally {
    progress.end();
  }
  const [only, ...others] = ids;
  if (others.length === 0) return only ?? null;
  const candidates = [...ids].slice(0, MOST_CANDIDATES).map(quoted).join(', ');
  const more = ids.size > MOST_CANDIDATES ? ', and more' : '';
  throw usageError(`${quoted(said)} matches several events: ${candidates}${more}. Type more characters of the id.`);
}

function quoted(text: string): string {
  return oneLine(JSON.stringify(text), Infinity);
}
