import type { Mark } from '../../inbox/rules/marks.ts';
import { oneLine } from '../../printable.ts';
import {
  comparisonOf,
  figuresOf,
  LEAST_RUNS,
  type SinceRelease,
  type TypeChange,
  type TypeFigures,
} from '../type-changes.ts';
import { latency, listed, number, percent, plural, relative } from './format.ts';

const MOST_OF_NAME = 40;
const MOST_OF_TYPE = 60;

/** What began, as a sentence. */
export function markInWords({ kind, name, endpoint }: Mark): string {
  const where = endpoint === '*' || endpoint === 'default' ? '' : ` at ${oneLine(endpoint, MOST_OF_NAME)}`;
  if (kind === 'release') return `release ${oneLine(name, MOST_OF_NAME)} began${where}`;
  return name === 'default'
    ? 'a new secret is in use'
    : `a new secret for endpoint ${oneLine(name, MOST_OF_NAME)} is in use`;
}

/** How many of all runs failed; a dash without any. */
export function failedPart({ failedPart: part }: TypeFigures): string {
  return part === null ? '–' : percent(part);
}

/** What has changed for the worse, in a sentence. */
export function verdict(changes: readonly TypeChange[]): string {
  if (changes.length > 0 && changes.every(({ before }) => before.ended === 0))
    return 'No earlier runs to compare with.';
  const named = (change: TypeChange, figure: (figures: TypeFigures) => string): string =>
    `${oneLine(change.type, MOST_OF_TYPE)} (${figure(change.after)}, previously ${figure(change.before)})`;
  const worse = failingMore(changes).map((change) => named(change, failedPart));
  const slower = changes
    .filter((change) => comparisonOf(change).durations === 'worse')
    .map((change) => named(change, ({ handlerMs }) => latency(handlerMs.p50)));
  const few = changes.filter((change) => comparisonOf(change).failures === 'too few').length;
  const isNone = worse.length === 0 && slower.length === 0 && few < changes.length;
  const said = [
    worse.length > 0 && `Failed more often: ${listed(worse)}.`,
    slower.length > 0 && `Took longer: ${listed(slower)}.`,
    isNone && 'No type failed more often or took longer than before.',
    few > 0 &&
      `${fewWords(few, changes.length)}: a comparison needs at least ${number(LEAST_RUNS)} runs in each period.`,
  ];
  return said.filter((sentence) => sentence !== false).join(' ');
}

function fewWords(few: number, all: number): string {
  return few === all ? 'Too few runs to compare' : `Too few runs to compare ${plural(few, 'type')}`;
}

/** The types that fail more often than before. */
export function failingMore(changes: readonly TypeChange[]): readonly TypeChange[] {
  return changes.filter((change) => comparisonOf(change).failures === 'worse');
}

const MOST_NAMED = 3;

/**
 * `order.shipped: 38% of its runs have failed since release 2026.11.2 began 5 h ago, compared with 1% in the 24 h before; in the
 * last hour, none failed.`
 */
export function brokenInWords(changes: readonly TypeChange[], release: SinceRelease, now: Date): string {
  const since = `since release ${oneLine(release.name, MOST_OF_NAME)} began ${relative(release.at, now)}`;
  const named = changes.slice(0, MOST_NAMED).map(({ type, before, after }) => {
    const then = `compared with ${failedPart(before)} in the ${release.before} before`;
    const failed = `${failedPart(after)} of its runs have failed ${since}`;
    return `${oneLine(type, MOST_OF_TYPE)}: ${failed}, ${then}${latelyInWords(type, release)}.`;
  });
  const more = changes.length - named.length;
  return [...named, ...(more > 0 ? [`${plural(more, 'other type')} also failed more often.`] : [])].join(' ');
}

/** What has failed for hours reads as if it did so now, so how it is now is said beside it. */
function latelyInWords(type: string, { lately }: SinceRelease): string {
  if (lately === null) return '';
  const figures = figuresOf(lately, type);
  if (figures.ended === 0) return '; in the last hour, no handler ran';
  return `; in the last hour, ${figures.failedPart === 0 ? 'none' : failedPart(figures)} failed`;
}
