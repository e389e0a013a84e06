import type { Mark } from '../../inbox/operator/marks.ts';
import { oneLine } from '../../printable.ts';
import { isSlower, isWorse, type TypeChange, type TypeFigures } from '../type-changes.ts';
import { latency, listed, percent } from './format.ts';

const MOST_OF_NAME = 40;
const MOST_OF_TYPE = 60;

/** What began, as a sentence. */
export function markInWords({ kind, name }: Mark): string {
  if (kind === 'release') return `release ${oneLine(name, MOST_OF_NAME)} began`;
  return name === 'default' ? 'a new secret began' : `a new secret of ${oneLine(name, MOST_OF_NAME)} began`;
}

/** How many of all runs failed; a dash without any. */
export function failedPart({ failedPart: part }: TypeFigures): string {
  return part === null ? '–' : percent(part);
}

/** What has changed for the worse, in a sentence. */
export function verdict(changes: readonly TypeChange[]): string {
  const named = (change: TypeChange, figure: (figures: TypeFigures) => string): string =>
    `${oneLine(change.type, MOST_OF_TYPE)} (${figure(change.after)}, before ${figure(change.before)})`;
  const worse = changes.filter(isWorse).map((change) => named(change, failedPart));
  const slower = changes.filter(isSlower).map((change) => named(change, ({ handlerMs }) => latency(handlerMs.p50)));
  const said = [
    ...(worse.length === 0 ? [] : [`Fails more often: ${listed(worse)}.`]),
    ...(slower.length === 0 ? [] : [`Takes longer: ${listed(slower)}.`]),
  ];
  if (changes.length > 0 && changes.every(({ before }) => before.ended === 0))
    return 'There is nothing before it to compare with.';
  return said.length === 0 ? 'Nothing fails more often or takes longer than before.' : said.join(' ');
}
