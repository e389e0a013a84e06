import { isImportedId } from '../../inbox/event.ts';
import type { Attempt } from '../../inbox/work.ts';
import { bodyDiff, type BodyDiff, differenceInWords } from '../../ops/body/body-diff.ts';
import { createMask } from '../../ops/body/mask.ts';
import { readableBody } from '../../ops/body/readable-body.ts';
import { foldedTimeline, type FoldedAttempts } from '../../ops/find.ts';
import { getEvent, type EventHistory, type TimelineEntry } from '../../ops/index.ts';
import { actInWords, replayInWords, VIA_WORDS } from '../../ops/words/act-words.ts';
import {
  attemptsInWords,
  stateText,
  afterHowLong,
  dueInWords,
  lineInWords,
  nthAttempt,
  ofLimit,
  withoutRun,
} from '../../ops/words/event-words.ts';
import { bytes, plural, relative, latency } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { existingInbox } from '../shared/inbox.ts';
import {
  CommandError,
  EXIT,
  usageError,
  type ExitCode,
  print,
  printBytes,
  printJson,
  styled,
} from '../shared/output.ts';
import type { InboxOptions } from './options.ts';
import { errorText, idText, timeText, orDash, stateStyle, waitText } from './event-table.ts';
import { foundEvent, ELLIPSIS, wholeId } from './search.ts';

interface ShowOptions extends InboxOptions {
  readonly endpoint?: string;
  readonly raw?: boolean;
  readonly mask?: readonly string[];
}

export async function show(id: string, options: ShowOptions): Promise<ExitCode> {
  const { raw = false, json = false, mask: paths = [] } = options;
  if (raw && (json || paths.length > 0))
    throw usageError('--raw prints only the stored bytes. Remove --json and --mask.');
  const { mask, maskLog } = createMask(paths);
  await using inbox = await existingInbox(options);
  // A program with a whole id must not get a longer id with this end.
  const mayBeEnd = !(raw || json || id.includes(ELLIPSIS));
  const whole = mayBeEnd ? await wholeId(inbox, id, options) : null;
  const key = await foundEvent(inbox, whole ?? id, options);
  const found = key === null ? null : await getEvent(inbox, key);
  if (found === null) return EXIT.notFound;
  const history = maskLog(found);

  const { body } = history.event;
  if (raw && body === null)
    throw new CommandError(
      `${JSON.stringify(history.event.id)} was pruned. The inbox still has its id, but not its body.`,
    );
  if (raw && body !== null) printBytes(body);
  else if (json) printJson(asJson(history, mask));
  else print(asText(history, mask, new Date()));
  return EXIT.ok;
}

type Masking = (body: Uint8Array) => Uint8Array;

function asJson({ summary, event, timeline, wait }: EventHistory, mask: Masking): object {
  const { redeliveries, conflict, body } = event;
  const { body: other, ...occurrences } = conflict ?? {};
  const isComparable = body !== null && other !== undefined && other.byteLength > 0;
  return {
    ...summary,
    redeliveries,
    conflict:
      other === undefined
        ? null
        : { ...occurrences, ...(isComparable && { diff: bodyDiff(body, other, mask) }), ...bodyFields(mask(other)) },
    timeline,
    wait,
    ...(body === null ? { body } : bodyFields(mask(body))),
  };
}

function bodyFields(body: Uint8Array): { readonly body: string } | { readonly bodyBase64: string } {
  const bytes = Buffer.from(body);
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? { body: text } : { bodyBase64: bytes.toString('base64') };
}

function asText({ summary, event, timeline, wait }: EventHistory, mask: Masking, now: Date): readonly string[] {
  const { body, conflict } = event;
  const gone = isImportedId(event)
    ? 'unknown: other code handled the event, and only its id was imported'
    : 'pruned: the inbox keeps only its hash';
  const lines = [
    `${styled('bold', idText(summary))}  ${orDash(summary.type)}  ${styled(stateStyle(summary), stateText(summary))}`,
    ...factsOf(summary, wait, now),
    '',
    styled('bold', 'Timeline'),
    ...timelineLines(timeline, now),
    '',
    ...(body === null
      ? [styled('bold', 'Body'), gone]
      : [styled('bold', `Body (${bytes(body.byteLength)})`), ...readableBody(mask(body))]),
  ];
  if (conflict === null || conflict.body.byteLength === 0) return lines;
  return [
    ...lines,
    '',
    styled('bold', `The newest conflicting body with this id (${bytes(conflict.body.byteLength)})`),
    ...(body === null ? [] : [...diffLines(bodyDiff(body, conflict.body, mask)), '']),
    ...readableBody(mask(conflict.body)),
  ];
}

function diffLines(diff: BodyDiff): readonly string[] {
  const changes = diff.kind === 'changes' ? diff.changes : [];
  return [
    differenceInWords(diff),
    ...changes.flatMap(({ path, was, is }) => [
      ...(was === null ? [] : [styled('red', `  - ${oneLine(path)}: ${oneLine(was)}`)]),
      ...(is === null ? [] : [styled('green', `  + ${oneLine(path)}: ${oneLine(is)}`)]),
    ]),
  ];
}

function factsOf(summary: EventHistory['summary'], wait: EventHistory['wait'], now: Date): readonly string[] {
  const { entity, receivedAt, settledAt, dueAt, verified, redeliveries, conflicts } = summary;
  const when = (at: Date): string => `${timeText(at)} (${relative(at, now)})`;
  const facts: readonly (readonly [name: string, value: string | null])[] = [
    ['entity', orDash(entity)],
    ['received', when(receivedAt)],
    ['due', dueAt && when(dueAt)],
    ['why', wait && waitText(summary, wait, now)],
    [summary.state, settledAt && when(settledAt)],
    ['signature', verified ? 'verified' : 'not verified'],
    ['attempts', attemptsInWords(summary)],
    ['last error', summary.lastError && styled('red', errorText(summary.lastError))],
    ['group', summary.fingerprint && oneLine(summary.fingerprint)],
    ['redelivered', redeliveries === 0 ? null : plural(redeliveries, 'time')],
    ['conflicts', conflicts === 0 ? null : `${plural(conflicts, 'time')} with a different body`],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [`  ${styled('dim', name.padEnd(13))}${value}`]));
}

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
      return ['received and stored'];
    case 'redelivered':
      return ['redelivered'];
    case 'redeliveries':
      return [`redelivered ${plural(entry.count, 'time')} after this, in addition to the redeliveries listed below`];
    case 'conflict':
      return [styled('yellow', 'redelivered with a different body (conflict)')];
    case 'act': {
      const { act, actor, via, reason, bulk } = entry.act;
      const part = bulk === null ? '' : ` in bulk action ${bulk}`;
      const why = reason === null ? '' : `: ${oneLine(reason)}`;
      return [
        `${oneLine(actInWords(act))} by ${oneLine(actor)} ${VIA_WORDS[via]}${replayInWords(entry.act)}${part}${why}`,
      ];
    }
    case 'attempts': {
      const { attempts, last } = entry;
      const text =
        `attempts ${attempts[0].number} to ${last.number}${ofLimit(last)}: ${last.outcome} ${attempts.length} times with the same ` +
        `error, most recently at ${last.startedAt.toISOString()}: ${errorText(last.error)}`;
      return [styled('red', text), ...stackLines(last), ...logLines(last)];
    }
    case 'attempt':
      return attemptLines(entry.attempt);
    case 'step':
      return [`attempt ${entry.attempt} ran the step ${oneLine(entry.name)}`];
    case 'settled':
      return [styled(entry.state === 'dead' ? 'red' : 'green', entry.state)];
  }
}

function attemptLines(attempt: Attempt): readonly string[] {
  const { outcome, trigger, startedAt, endedAt, error, skipped, processor } = attempt;
  const unrun = withoutRun(attempt);
  if (unrun !== null) return [unrun];
  const by = trigger === 'manual' ? ' (rerun)' : '';
  const took = latency(endedAt.getTime() - startedAt.getTime());
  const late = outcome === 'processed' && error !== null ? ', threw after its transaction was committed' : '';
  const skip = skipped === undefined ? '' : `, skipped: ${oneLine(skipped)}`;
  const where = processor === undefined ? '' : ` by processor ${oneLine(processor)}`;
  const why = error === null ? '' : `: ${errorText(error)}`;
  const text = `${nthAttempt(attempt)}${by} ${outcome}${afterHowLong(outcome, took)}${where}${late}${skip}${why}`;
  return [styled(outcome === 'processed' ? 'green' : 'red', text), ...stackLines(attempt), ...logLines(attempt)];
}

function logLines({ log = [] }: Attempt): readonly string[] {
  return log.map(lineInWords);
}

/** Without the name and message at the beginning. */
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
