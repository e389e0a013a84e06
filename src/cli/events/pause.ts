import type { Inbox } from '../../inbox/contract.ts';
import { option, quoted } from '../../host/shell-words.ts';
import { pausedTypes, pauseType, resumeType, type Pause } from '../../ops/index.ts';
import { endInWords, namedEndpoints, pausedInWords, strangerInWords } from '../../ops/pauses.ts';
import { bounded, relative } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { neededInbox } from '../shared/options.ts';
import { existingInbox } from '../shared/inbox.ts';
import { EXIT, type ExitCode, print, printJson, tell } from '../shared/output.ts';
import { printList, texts, times, type Columns } from '../shared/table.ts';
import { byOf, type ByOptions, type InboxOptions } from './options.ts';
import { orDash, timeText } from './event-table.ts';

interface PauseOptions extends InboxOptions, ByOptions {
  readonly endpoint: string;
  readonly unseen?: boolean;
}

export async function pause(type: string | undefined, options: PauseOptions): Promise<ExitCode> {
  if (type === undefined) return listPauses(options);
  const { endpoint, json = false, unseen = false } = options;
  await using inbox = await existingInbox(options);
  const { pause: made, changed } = await pauseType(inbox, type, byOf(options), { endpoint, unseen });
  if (json) printJson({ ...made, changed });
  else print(`${pausedInWords(made)}.`);
  if (!changed) tell('The type was already paused. Nothing changed.');
  const stranger = strangerInWords(endpoint, await namedEndpoints(inbox, Date.now()));
  if (stranger !== null) tell(stranger);
  const where = [...(endpoint === 'default' ? [] : option('--endpoint', endpoint)), ...neededInbox(options)];
  // A type that begins with a dash would be read as an option.
  const resuming = type.startsWith('-') ? [...where, '--', quoted(type)] : [quoted(type), ...where];
  tell(
    `hookbox stores the events of this type and does not handle them. To handle them: ${['hookbox events resume', ...resuming].join(' ')}`,
  );
  return EXIT.ok;
}

export async function resume(type: string, options: PauseOptions): Promise<ExitCode> {
  const { endpoint, json = false } = options;
  await using inbox = await existingInbox(options);
  const waiting = (await pausedTypes(inbox)).find((each) => each.type === type && each.endpoint === endpoint);
  const ended = await resumeType(inbox, type, byOf(options), { endpoint });
  if (ended === null) {
    tell(
      `${oneLine(type)} is not paused at the endpoint ${oneLine(endpoint)}. To list the paused types, run hookbox ` +
        'events pause.',
    );
    return EXIT.notFound;
  }
  if (json) printJson(ended);
  else
    print(`Resumed: ${oneLine(ended.type)}, paused ${relative(ended.since, new Date())} by ${oneLine(ended.actor)}.`);
  if (waiting !== undefined)
    tell(`${waitingText(waiting)}; a processor with handlers claims them within about a second.`);
  return EXIT.ok;
}

async function listPauses(options: PauseOptions): Promise<ExitCode> {
  await using inbox = await existingInbox(options);
  const pauses = await pausedTypes(inbox);
  const columns: Columns<Pause> = [
    [texts('type'), ({ type }) => oneLine(type)],
    [texts('endpoint'), ({ endpoint }) => oneLine(endpoint)],
    [times('since'), ({ since }) => timeText(since)],
    [times('until'), ({ until }) => (until === undefined ? orDash(null) : timeText(until))],
    [texts('by'), ({ actor }) => oneLine(actor)],
    [texts('reason'), ({ reason }) => orDash(reason)],
    ['waiting', ({ waiting, more }) => bounded({ count: waiting, more })],
  ];
  printList(pauses, columns, { ...options, wide: true });
  if (pauses.length === 0) tell('No type is paused.');
  return EXIT.ok;
}

export async function tellPaused(inbox: Inbox): Promise<void> {
  for (const each of await pausedTypes(inbox)) {
    if (each.waiting > 0 || each.more) tell(`${pausedInWords(each)}. ${waitingText(each)} ${endInWords(each)}.`);
  }
}

function waitingText({ waiting, more }: Pause): string {
  return waiting === 1 && !more ? '1 event is waiting' : `${bounded({ count: waiting, more })} events are waiting`;
}
