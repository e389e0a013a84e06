import { readdirSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { StoredEvent, EventState } from '../inbox/event.ts';
import { type StoredEventFilter, newestSeq, storedEvents } from '../ops/stored-events.ts';
import { oneLine } from '../printable.ts';
import { labelOf } from '../sender/event-label.ts';
import { idFor } from './events/search.ts';
import { readInput } from './shared/files.ts';
import { existingInbox } from './shared/inbox.ts';
import { interruption } from './shared/interruption.ts';
import {
  shownInbox,
  type DbOptions,
  type SendingOptions,
  tellUnknownTypes,
  timeOption,
  targetOf,
} from './shared/options.ts';
import { EXIT, type ExitCode, print, printNdjson, tell, usageError, CommandError } from './shared/output.ts';
import { secretOf } from './shared/secret.ts';
import {
  nameOf,
  type Outgoing,
  exitCodeOf,
  sendAll,
  tellGone,
  tellSummary,
  type SendingResult,
} from './shared/sending.ts';

/** What the arguments of `replay` say. */
export interface ReplayOptions extends DbOptions, SendingOptions, SelectionOptions {
  readonly rate?: number;
  readonly quiet?: boolean;
  readonly dryRun?: boolean;
}

/** Sends what the arguments name to a URL, and resolves with how to exit. */
export async function replay(sources: readonly string[], options: ReplayOptions): Promise<ExitCode> {
  const { endpoint, dryRun = false, unsigned = false } = options;
  const to = targetOf(options.to, options.allowRemote ?? false);
  const filter = filterOf(sources, options);
  const names = named(sources);
  const needsInbox = filter !== null || names.some((name) => 'id' in name);
  const inbox = needsInbox ? await existingInbox(options) : null;
  let missing = 0;
  const noteMissing = (id: string): void => {
    missing += 1;
    tell(`${oneLine(id)} is neither a file nor an event of the endpoint ${endpoint} in ${shownInbox(options)}.`);
  };

  try {
    const items =
      filter === null
        ? fromNames(names, inbox, endpoint, options.skip ?? 0, noteMissing)
        : fromInbox(inbox as Inbox, filter);
    const signal = interruption();
    if (dryRun) {
      const listed = await listAll(items, options, signal);
      if (listed.ok + listed.failed === 0) tellUnknownTypes(options.type);
      return concluded(listed, missing, signal);
    }
    const secret = unsigned ? null : await secretOf(options);
    const watched = unsigned ? items : remarkingUnverified(items);
    const result = await sendAll(watched, { ...options, to, secret, json: options.json ?? false, signal });
    if (result.ok + result.failed > 0) tellEnd(result, to);
    else if (missing === 0 && !signal.aborted) {
      tell(`${shownInbox(options)} has no matching event of the endpoint ${endpoint}.`);
      tellUnknownTypes(options.type);
    }
    if (result.next !== null) tell(`Stopped before ${nameOf(result.next)}. To continue, add ${result.next.resume}`);
    return concluded(result, missing, signal);
  } finally {
    await inbox?.close().catch((failure: unknown) => tell(messageOf(failure)));
  }
}

/** What would be sent. */
async function listAll(
  items: AsyncIterable<Outgoing>,
  { json = false }: ReplayOptions,
  signal: AbortSignal,
): Promise<Pick<SendingResult, 'ok' | 'failed'>> {
  let ok = 0;
  let failed = 0;
  for await (const { id, type, body, source } of items) {
    if (signal.aborted) break;
    if (body === null) failed += 1;
    else ok += 1;
    const bytes = body?.byteLength ?? null;
    if (json) printNdjson({ id, type, ...source, bytes });
    else {
      const size = bytes === null ? 'the body was pruned, so the event cannot be sent' : `${bytes} bytes`;
      print([(type === null ? '-' : oneLine(type)).padEnd(22), nameOf({ id, source }), size].join('  '));
    }
  }
  tell(`${ok} would be sent${failed > 0 ? `, ${failed} cannot be sent because their bodies were pruned` : ''}`);
  return { ok, failed };
}

function tellEnd(result: SendingResult, to: URL): void {
  const { duplicates, gone } = result;
  tellSummary(result);
  if (duplicates > 0) {
    const them = duplicates === 1 ? 'it' : 'them';
    tell(
      `note: the receiver already had ${duplicates} of these events, so no handler ran for ${them}. To run handlers again, use hookbox events rerun.`,
    );
  }
  if (gone) tellGone(to);
}

function concluded(
  { ok, failed }: Pick<SendingResult, 'ok' | 'failed'>,
  missing: number,
  signal: AbortSignal,
): ExitCode {
  if (signal.aborted) return EXIT.interrupted;
  if (ok + failed === 0) return EXIT.notFound;
  return exitCodeOf({ ok, failed: failed + missing });
}

/** What the arguments of `replay` say about which events are meant. */
export interface SelectionOptions {
  readonly endpoint: string;
  readonly all?: boolean;
  readonly type?: readonly string[];
  readonly state?: readonly EventState[];
  readonly since?: string;
  readonly until?: string;
  readonly after?: number;
  readonly skip?: number;
}

/**
 * The filter for stored events, or `null` where they are named one by one.
 *
 * @throws CommandError when nothing is said, or both ways are mixed
 */
export function filterOf(sources: readonly string[], options: SelectionOptions): StoredEventFilter | null {
  const { endpoint, all, type, state, since, until, after, skip } = options;
  const filtered = [all, type, state, since, until, after].some((option) => option !== undefined);
  if (sources.length > 0) {
    if (filtered) throw usageError('Pass event ids, files or folders, or use filters, but not both.');
    return null;
  }
  if (skip !== undefined)
    throw usageError('--skip works only with event ids, files and folders. With a filter, use --after.');
  if (!filtered) {
    throw usageError(
      'Select what to replay: pass event ids, files or folders, or use --all, --type, --state, --since, --until or --after.',
    );
  }
  return {
    endpoint,
    ...(type && { types: type }),
    ...(state && { states: state }),
    ...(since !== undefined && { since: timeOption('--since', since) }),
    ...(after !== undefined && { after }),
    ...(until !== undefined && { until: timeOption('--until', until) }),
  };
}

/** Something that the arguments name: the body in a file, or a stored event. */
export type Named = { readonly file: string } | { readonly id: string };

/**
 * Takes a folder for its `*.json` files in the order of their names, a file for itself, and anything else for an event's id.
 *
 * @throws CommandError for a folder without any
 */
export function named(sources: readonly string[]): readonly Named[] {
  return sources.flatMap((source): readonly Named[] => {
    const found = foundAt(source);
    if (found === undefined) return [{ id: source }];
    if (!found.isDirectory()) return [{ file: source }];
    const files = readdirSync(source)
      .filter((name) => name.endsWith('.json') && statSync(join(source, name)).isFile())
      .sort();
    if (files.length === 0) throw new CommandError(`${oneLine(source)} has no *.json files.`, EXIT.notFound);
    return files.map((name) => ({ file: join(source, name) }));
  });
}

/** An id may be longer than a file's name can be. */
function foundAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENAMETOOLONG') return undefined;
    throw failure;
  }
}

/**
 * What is named, one after the other.
 *
 * @param inbox - `null` where only files are named
 * @param skip - leaves out so many at the beginning
 * @param missing - is called for each id that is not stored
 */
export async function* fromNames(
  names: readonly Named[],
  inbox: Inbox | null,
  endpoint: string,
  skip: number,
  missing: (id: string) => void,
): AsyncGenerator<Outgoing, void> {
  for (const [index, name] of names.entries()) {
    if (index < skip) continue;
    const resume = `--skip ${index}`;
    const share = (index + 1) / names.length;
    if ('file' in name) {
      const body = await readInput(name.file);
      yield { ...labelOf(body), body, share, source: { file: name.file }, resume };
      continue;
    }
    const event = inbox && (await inbox.get({ endpoint, id: await idFor(inbox, name.id, { endpoint }) }));
    if (event === null) missing(name.id);
    else yield { ...outgoing(event, share), resume };
  }
}

/** The stored events that fit a filter, of those that are stored now. */
export async function* fromInbox(inbox: Inbox, filter: StoredEventFilter): AsyncGenerator<Outgoing, void> {
  const newest = await newestSeq(inbox);
  for await (const event of storedEvents(inbox, filter, newest)) {
    yield { ...outgoing(event, event.seq / newest), resume: `--after ${event.seq - 1}` };
  }
}

function outgoing(event: StoredEvent, share: number): Outgoing {
  const { id, type, body, endpoint, seq, state, verified } = event;
  return { id, type, body, share, source: { endpoint, seq, state, verified, receivedAt: event.receivedAt } };
}

/** A fresh signature makes events authentic that were not when they came: the user should know. */
export async function* remarkingUnverified(items: AsyncGenerator<Outgoing, void>): AsyncGenerator<Outgoing, void> {
  let remarked = false;
  for await (const item of items) {
    const { source } = item;
    if (!remarked && source !== undefined && 'verified' in source && !source.verified) {
      remarked = true;
      tell(`note: ${nameOf(item)} was received without verification. hookbox now sends it with a valid signature.`);
    }
    yield item;
  }
}
