import { LONGEST_TEXT } from '../../inbox/operator/search.ts';
import { readText } from '../../ops/find-by-text.ts';
import { FIELDS, filterFields, hrefOf } from '../parts/filter-fields.ts';
import { printQueryLine, readQueryLine } from '../parts/query-line.ts';
import type { Visit } from '../visit.ts';
import { namesShown } from './listing.ts';

type Fields = readonly (readonly [name: string, value: string])[];

export function givenFields({ searchParams }: URL): Fields {
  return [...searchParams].filter(([name]) => FIELDS.includes(name));
}

/** The line of the search box as a URL to share. `null` for a text, and for a line that cannot be read. */
export async function lineHref(visit: Visit): Promise<string | null> {
  const given = givenFields(visit.url);
  const { fields, text, problems } = readQueryLine(visit.url.searchParams.get('q') ?? '');
  if (problems.length > 0 || fields.length === 0) return null;
  const all = [...given, ...fields];
  return hrefOf(`${visit.base}/events`, text === null ? all : [...all, ...(await fieldsOf(visit, text, all))]);
}

async function fieldsOf(visit: Visit, text: string, others: Fields): Promise<Fields> {
  if (text.length > LONGEST_TEXT) return [['text', text]];
  const { filter } = await readText(visit.operated.inbox, text, { kinds: namesShown(visit) });
  const fields = filterFields(filter);
  const isThere = fields.some(([name]) => others.some(([other]) => other === name));
  return isThere ? [['text', text]] : fields;
}

/** The text in the search box for a URL. */
export function lineOf(url: URL): string {
  const typed = url.searchParams.get('q');
  const fields = givenFields(url);
  return typed !== null && fields.length === 0 ? typed : printQueryLine({ fields, text: typed });
}
