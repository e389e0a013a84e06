import type { Attempt } from '../../inbox/work.ts';
import { foldedTimeline, type FoldedAttempts } from '../../ops/find.ts';
import type { EventAct, TimelineEntry } from '../../ops/index.ts';
import { actInWords, VIA_WORDS } from '../../ops/words/act-words.ts';
import { afterHowLong, dueInWords } from '../../ops/words/event-words.ts';
import { latency, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { styled } from '../shared/output.ts';
import { errorText } from './event-texts.ts';

/** What happened to an event, a line each; the stacks of errors beneath their attempts. */
export function timelineLines(timeline: readonly TimelineEntry[], now = new Date()): readonly string[] {
  const wasTried = timeline.some(({ what }) => what === 'attempt');
  return foldedTimeline(timeline).flatMap((entry) => {
    const [first = '', ...more] = entry.what === 'due' ? [dueInWords(entry.at, wasTried, now)] : entryLines(entry);
    return [
      `  ${styled('dim', entry.at.toISOString())}  ${first}`,
      ...more.map((line) => styled('dim', `    ${line}`)),
    ];
  });
}

function entryLines(entry: Exclude<TimelineEntry, { what: 'due' }> | FoldedAttempts): readonly string[] {
  switch (entry.what) {
    case 'stored':
      return ['delivered and stored'];
    case 'redelivered':
      return ['delivered again'];
    case 'redeliveries':
      return [
        `delivered again ${plural(entry.count, 'time')} after this, in addition to the redeliveries listed below`,
      ];
    case 'conflict':
      return [styled('yellow', 'delivered with a different body')];
    case 'act':
      return [actLine(entry.act)];
    case 'attempts':
      return foldedLines(entry);
    case 'attempt':
      return attemptLines(entry.attempt);
    case 'settled':
      return [styled(entry.state === 'dead' ? 'red' : 'green', entry.state)];
  }
}

/** Who acted, and why. */
function actLine({ act, actor, via, reason, bulk }: EventAct): string {
  const part = bulk === null ? '' : ` in bulk action ${bulk}`;
  const why = reason === null ? '' : `: ${oneLine(reason)}`;
  return `${oneLine(actInWords(act))} by ${oneLine(actor)} ${VIA_WORDS[via]}${part}${why}`;
}

/** Attempts that failed alike, with what the last one said. */
function foldedLines({ attempts: [first, ...rest], last }: FoldedAttempts): readonly string[] {
  const text =
    `attempts ${first.number} to ${last.number}: ${last.outcome} ${rest.length + 1} times with the same ` +
    `error, most recently at ${last.startedAt.toISOString()}: ${errorText(last.error)}`;
  return [styled('red', text), ...stackLines(last)];
}

function attemptLines(attempt: Attempt): readonly string[] {
  const { outcome, trigger, startedAt, endedAt, error, skipped } = attempt;
  const by = trigger === 'manual' ? ' (rerun)' : '';
  const took = latency(endedAt.getTime() - startedAt.getTime());
  const late = outcome === 'processed' && error !== null ? ', threw after its transaction was committed' : '';
  const skip = skipped === undefined ? '' : `, skipped: ${oneLine(skipped)}`;
  const why = error === null ? '' : `: ${errorText(error)}`;
  const text = `attempt ${attempt.number}${by} ${outcome}${afterHowLong(outcome, took)}${late}${skip}${why}`;
  return [styled(outcome === 'processed' ? 'green' : 'red', text), ...stackLines(attempt)];
}

/** Without its beginning, which says name and message once more. */
function stackLines({ error }: Attempt): readonly string[] {
  if (error === null || error.stack === null) return [];
  const { name, message, stack } = error;
  const beginning = [`${name}: ${message}`, name].find((each) => stack.startsWith(each)) ?? '';
  return stack
    .slice(beginning.length)
    .split('\n')
    .map((line) => oneLine(line.trim()))
    .filter((line) => line !== '');
}
