import { isImportedId, type StoredEvent } from '../../inbox/event.ts';
import { getEvent, type EventHistory } from '../../ops/index.ts';
import { bytes, plural, relative } from '../../ops/words/format.ts';
import { stateText } from '../../ops/words/event-words.ts';
import { bodyDiff, type BodyDiff, differenceInWords } from '../../ops/body/body-diff.ts';
import { createMask } from '../../ops/body/mask.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { CommandError, EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { oneLine } from '../../printable.ts';
import { print, printBytes, printJson, styled } from '../shared/output.ts';
import { foundEvent } from './found-event.ts';
import { ELLIPSIS, wholeId } from './whole-id.ts';
import type { InboxOptions } from './event-options.ts';
import { readableBody } from '../../ops/body/readable-body.ts';
import { errorText, idText, timeText, orDash, stateStyle, waitText } from './event-texts.ts';
import { timelineLines } from './timeline.ts';

/** What the arguments of `events show` say. */
export interface ShowOptions extends InboxOptions {
  readonly endpoint?: string;
  readonly raw?: boolean;
  readonly mask?: readonly string[];
}

/** Prints everything that is known of an event, and resolves with how to exit. */
export async function show(id: string, options: ShowOptions): Promise<ExitCode> {
  const { raw = false, json = false, mask: paths = [] } = options;
  if (raw && (json || paths.length > 0))
    throw usageError('--raw prints only the stored bytes. Remove --json and --mask.');
  const { mask } = createMask(paths);
  await using inbox = await existingInbox(options);
  // A program that gives a whole id must not get another event that happens to end so.
  const mayBeEnd = !(raw || json || id.includes(ELLIPSIS));
  const whole = mayBeEnd ? await wholeId(inbox, id, options) : null;
  const key = await foundEvent(inbox, whole ?? id, options);
  const history = key === null ? null : await getEvent(inbox, key);
  if (history === null) return EXIT.notFound;

  if (raw) {
    printRaw(history.event);
    return EXIT.ok;
  }
  const now = new Date();
  if (json) printJson(asJson(history, mask));
  else print(asText(history, mask, now));
  return EXIT.ok;
}

type Masking = (body: Uint8Array) => Uint8Array;

function printRaw({ id, body }: StoredEvent): void {
  if (body === null)
    throw new CommandError(`${JSON.stringify(id)} was pruned. The inbox still has its id, but not its body.`);
  printBytes(body);
}

/** The bodies as texts; in base64 where they are none. */
function asJson({ summary, event, timeline, wait }: EventHistory, mask: Masking): object {
  const { redeliveries, conflict, body } = event;
  const { body: otherBody, ...conflicts } = conflict ?? {};
  return {
    ...summary,
    redeliveries,
    conflict:
      otherBody === undefined
        ? null
        : { ...conflicts, ...diffFields(body, otherBody, mask), ...bodyFields(mask(otherBody)) },
    timeline,
    wait,
    ...(body === null ? { body } : bodyFields(mask(body))),
  };
}

const IMPORTED_ID = 'unknown: other code handled the event, and only its id was imported';

/** What it says otherwise; nothing where one of the two is gone. */
function diffFields(body: Uint8Array | null, other: Uint8Array, mask: Masking): { readonly diff?: BodyDiff } {
  return body === null || other.byteLength === 0 ? {} : { diff: bodyDiff(body, other, mask) };
}

function bodyFields(body: Uint8Array): { readonly body: string } | { readonly bodyBase64: string } {
  const bytes = Buffer.from(body);
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? { body: text } : { bodyBase64: bytes.toString('base64') };
}

function asText({ summary, event, timeline, wait }: EventHistory, mask: Masking, now: Date): readonly string[] {
  const { body, conflict } = event;
  const facts = factsOf(summary, wait, now).map(
    ([name, value]) => `  ${styled('dim', name.padEnd(FACT_WIDTH))}${value}`,
  );
  return [
    `${styled('bold', idText(summary))}  ${orDash(summary.type)}  ${styled(stateStyle(summary), stateText(summary))}`,
    ...facts,
    '',
    styled('bold', 'Timeline'),
    ...timelineLines(timeline, now),
    '',
    ...(body === null
      ? [styled('bold', 'Body'), isImportedId(event) ? IMPORTED_ID : 'pruned: the inbox keeps only its hash']
      : [styled('bold', `Body (${bytes(body.byteLength)})`), ...readableBody(mask(body))]),
    ...(conflict === null || conflict.body.byteLength === 0
      ? []
      : [
          '',
          styled('bold', `The newest conflicting body with this id (${bytes(conflict.body.byteLength)})`),
          ...(body === null ? [] : [...diffLines(bodyDiff(body, conflict.body, mask)), '']),
          ...readableBody(mask(conflict.body)),
        ]),
  ];
}

/** What it says otherwise: `-` is of the body that counts. */
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

const FACT_WIDTH = 13;

function factsOf(
  summary: EventHistory['summary'],
  wait: EventHistory['wait'],
  now: Date,
): readonly (readonly [name: string, value: string])[] {
  const { entity, receivedAt, settledAt, dueAt, verified, attempts, redeliveries, conflicts } = summary;
  const when = (at: Date): string => `${timeText(at)} (${relative(at, now)})`;
  return [
    ['entity', orDash(entity)],
    ['received', when(receivedAt)],
    ...(dueAt === null ? [] : [['due', when(dueAt)] as const]),
    ...(wait === null ? [] : [['why', waitText(summary, wait, now)] as const]),
    ...(settledAt === null ? [] : [[summary.state, when(settledAt)] as const]),
    ['signature', verified ? 'verified' : 'not verified'],
    ['attempts', String(attempts)],
    ...(summary.lastError === null ? [] : [['last error', styled('red', errorText(summary.lastError))] as const]),
    ...(summary.fingerprint === null ? [] : [['group', oneLine(summary.fingerprint)] as const]),
    ...(redeliveries === 0 ? [] : [['redelivered', plural(redeliveries, 'time')] as const]),
    ...(conflicts === 0 ? [] : [['conflicts', `${plural(conflicts, 'time')} with a different body`] as const]),
  ];
}
