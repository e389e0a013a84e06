import { readdirSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { StoredEvent, EventState } from '../inbox/event.ts';
import { type StoredEventFilter, newestSeq, storedEvents } from '../ops/stored-events.ts';
import { oneLine } from '../printable.ts';
import { labelOf } from '../sender/event-json.ts';
import { idFor } from './events/search.ts';
import { readInput } from './shared/files.ts';
import { existingInbox } from './shared/inbox.ts';
import { interruption } from './shared/interruption.ts';
import {
  shownInbox,
  type DbOptions,
  type SendingOptions,
  tellUnknownTypes,
  optionalTime,
  present,
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

interface ReplayOptions extends DbOptions, SendingOptions {
  readonly endpoint: string;
  readonly all?: boolean;
  readonly type?: readonly string[];
  readonly state?: readonly EventState[];
  readonly since?: string;
  readonly until?: string;
  readonly after?: number;
  readonly skip?: number;
  readonly rate?: number;
  readonly quiet?: boolean;
  readonly dryRun?: boolean;
}

export async function replay(sources: readonly string[], options: ReplayOptions): Promise<ExitCode> {
  const { endpoint, dryRun = false, unsigned = false, json = false } = options;
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
  const concluded = ({ ok, failed }: Pick<SendingResult, 'ok' | 'failed'>): ExitCode => {
    if (signal.aborted) return EXIT.interrupted;
    return ok + failed === 0 ? EXIT.notFound : exitCodeOf({ ok, failed: failed + missing });
  };

  const signal = interruption();
  try {
    const items = filter === null ? fromNames(names, inbox, options, noteMissing) : fromInbox(inbox as Inbox, filter);
    if (dryRun) {
      const listed = await listAll(items, json, signal);
      if (listed.ok + listed.failed === 0) tellUnknownTypes(options.type);
      return concluded(listed);
    }
    const secret = unsigned ? null : await secretOf(options);
    const watched = unsigned ? items : remarkingUnverified(items);
    const result = await sendAll(watched, { ...options, to, secret, json, signal });
    const { duplicates, gone, next } = result;
    if (result.ok + result.failed > 0) {
      tellSummary(result);
      if (duplicates > 0) {
        const them = duplicates === 1 ? 'it' : 'them';
        tell(
          `note: the receiver already had ${duplicates} of these events, so no handler ran for ${them}. To run handlers again, use hookbox events rerun.`,
        );
      }
      if (gone) tellGone(to);
    } else if (missing === 0 && !signal.aborted) {
      tell(`${shownInbox(options)} has no matching event of the endpoint ${endpoint}.`);
      tellUnknownTypes(options.type);
    }
    if (next !== null) tell(`Stopped before ${nameOf(next)}. To continue, add ${next.resume}`);
    return concluded(result);
  } finally {
    await inbox?.close().catch((failure: unknown) => tell(messageOf(failure)));
  }
}

async function listAll(
  items: AsyncIterable<Outgoing>,
  json: boolean,
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

/** `null` if the arguments name single events and files. */
function filterOf(sources: readonly string[], options: ReplayOptions): StoredEventFilter | null {
  const { endpoint, all, type, state, since, until, after, skip } = options;
  const isFiltered = [all, type, state, since, until, after].some((option) => option !== undefined);
  if (sources.length > 0) {
    if (isFiltered) throw usageError('Pass event ids, files or folders, or use filters, but not both.');
    return null;
  }
  if (skip !== undefined)
    throw usageError('--skip works only with event ids, files and folders. With a filter, use --after.');
  if (!isFiltered) {
    throw usageError(
      'Select what to replay: pass event ids, files or folders, or use --all, --type, --state, --since, --until or --after.',
    );
  }
  const times = { since: optionalTime('since', since), until: optionalTime('until', until) };
  return { endpoint, ...present({ types: type, states: state, after, ...times }) };
}

type Named = { readonly file: string } | { readonly id: string };

/** A folder means its `*.json` files. Any other name that is not a file is the id of an event. */
function named(sources: readonly string[]): readonly Named[] {
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

/** An id may be longer than a file name can be. */
function foundAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENAMETOOLONG') return undefined;
    throw failure;
  }
}

async function* fromNames(
  names: readonly Named[],
  inbox: Inbox | null,
  { endpoint, skip = 0 }: ReplayOptions,
  noteMissing: (id: string) => void,
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
    if (event === null) noteMissing(name.id);
    else yield { ...outgoing(event, share), resume };
  }
}

async function* fromInbox(inbox: Inbox, filter: StoredEventFilter): AsyncGenerator<Outgoing, void> {
  const newest = await newestSeq(inbox);
  for await (const event of storedEvents(inbox, filter, newest)) {
    yield { ...outgoing(event, event.seq / newest), resume: `--after ${event.seq - 1}` };
  }
}

function outgoing(event: StoredEvent, share: number): Outgoing {
  const { id, type, body, endpoint, seq, state, verified, receivedAt } = event;
  return { id, type, body, share, source: { endpoint, seq, state, verified, receivedAt } };
}

/** The new signature makes unverified events authentic. */
async function* remarkingUnverified(items: AsyncGenerator<Outgoing, void>): AsyncGenerator<Outgoing, void> {
  let hasRemarked = false;
  for await (const item of items) {
    const { source } = item;
    if (!hasRemarked && source !== undefined && 'verified' in source && !source.verified) {
      hasRemarked = true;
      tell(`note: ${nameOf(item)} was received without verification. hookbox now sends it with a valid signature.`);
    }
    yield item;
  }
}
