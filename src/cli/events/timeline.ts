import type { Attempt } from '../../inbox/work.ts';
import type { TimelineEntry } from '../../ops/index.ts';
import { afterHowLong } from '../../ops/words/event-words.ts';
import { latency, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { styled } from '../shared/output.ts';
import { errorText } from './event-texts.ts';

/** What happened to an event, a line each; the stacks of errors beneath their attempts. */
export function timelineLines(timeline: readonly TimelineEntry[]): readonly string[] {
  return timeline.flatMap((entry) => {
    const [first = '', ...more] = entryLines(entry);
    return [
      `  ${styled('dim', entry.at.toISOString())}  ${first}`,
      ...more.map((line) => styled('dim', `    ${line}`)),
    ];
  });
}

function entryLines(entry: TimelineEntry): readonly string[] {
  switch (entry.what) {
    case 'stored':
      return ['delivered and stored'];
    case 'redelivered':
      return ['delivered again'];
    case 'redeliveries':
      return [`from here on delivered again ${plural(entry.count, 'time')}, beside those below`];
    case 'conflict':
      return [styled('yellow', 'delivered with other bytes')];
    case 'attempt':
      return attemptLines(entry.attempt);
    case 'due':
      return ['due'];
    case 'settled':
      return [styled(entry.state === 'dead' ? 'red' : 'green', entry.state)];
  }
}

function attemptLines(attempt: Attempt): readonly string[] {
  const { outcome, trigger, startedAt, endedAt, error } = attempt;
  const by = trigger === 'manual' ? ' (rerun)' : '';
  const took = latency(endedAt.getTime() - startedAt.getTime());
  const late = outcome === 'processed' && error !== null ? ', threw after its transaction was committed' : '';
  const why = error === null ? '' : `: ${errorText(error)}`;
  const text = `attempt ${attempt.number}${by} ${outcome}${afterHowLong(outcome, took)}${late}${why}`;
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
