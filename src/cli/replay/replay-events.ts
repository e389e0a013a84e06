import { messageOf } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { shownInbox, type DbOptions } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { oneLine } from '../../printable.ts';
import { print, printNdjson, tell } from '../shared/output.ts';
import { secretOf } from '../shared/secret-option.ts';
import { nameOf, type Outgoing } from '../shared/sending/sent-lines.ts';
import type { SendingOptions } from '../shared/sending/sending-options.ts';
import { exitCodeOf, sendAll, tellGone, tellSummary, type SendingResult } from '../shared/sending/send-all.ts';
import { targetOf } from '../shared/target-url.ts';
import { tellUnknownTypes } from '../shared/unknown-types.ts';
import { filterOf, type SelectionOptions } from './replay-filter.ts';
import { fromInbox, fromNames, named, remarkingUnverified } from './replay-sources.ts';

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
