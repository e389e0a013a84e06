import { readdirSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { Inbox } from '../../inbox/contract.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import { newestSeq, storedEvents, type StoredEventFilter } from '../../ops/stored-events.ts';
import { labelOf } from '../../sender/event-json.ts';
import { CommandError, EXIT } from '../shared/exit.ts';
import { oneLine } from '../../printable.ts';
import { tell } from '../shared/output.ts';
import { idFor } from '../events/found-event.ts';
import { readInput } from '../shared/read-input.ts';
import { nameOf, type Outgoing } from '../shared/sending/sent-lines.ts';

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
