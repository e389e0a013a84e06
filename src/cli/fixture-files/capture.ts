import { writeFileSync } from 'node:fs';
import { messageOf } from '../../errors.ts';
import { readEvent } from '../../events/parse.ts';
import type { EventKey } from '../../inbox/inbox.ts';
import { OWNER_ONLY } from '../../owner-only.ts';
import { redactBody } from '../../ops/redact.ts';
import { existingInbox } from '../existing-inbox.ts';
import { CommandError, EXIT } from '../exit.ts';
import { printBytes, tell } from '../output.ts';

/** What the arguments of `fixtures capture` say. */
export interface CaptureOptions {
  readonly db: string;
  readonly endpoint: string;
  readonly out?: string;
  readonly force?: boolean;
  readonly redact?: boolean;
}

/**
 * Writes the stored bytes of an event to a file, or to standard output.
 *
 * @throws CommandError when there is no such event, or nothing is left of it
 */
export async function capture(id: string, options: CaptureOptions): Promise<void> {
  const { db, endpoint, out, force = false, redact = false } = options;
  const stored = await storedBody({ endpoint, id }, db);
  const body = redact ? redacted(stored) : stored;
  if (out === undefined) printBytes(body);
  else save(out, body, force);
  if (redact) {
    tell('The values are made up, so the bytes differ from what was signed. hookbox sign signs them anew.');
  }
}

async function storedBody(key: EventKey, db: string): Promise<Uint8Array> {
  await using inbox = existingInbox(db);
  const event = await inbox.get(key);
  if (event === null) {
    throw new CommandError(
      `There is no event ${JSON.stringify(key.id)} of the endpoint ${JSON.stringify(key.endpoint)} in ${db}.`,
      EXIT.notFound,
    );
  }
  if (event.body !== null) return event.body;
  throw new CommandError(`${JSON.stringify(key.id)} was pruned: the inbox still knows it, but not its bytes.`);
}

function redacted(body: Uint8Array): Uint8Array {
  const result = redactBody(body);
  if (verdict(result) === verdict(body)) return result;
  throw new CommandError('Redacting would make another event of it. Capture it without --redact, and edit it by hand.');
}

/** What a receiver makes of a body. */
function verdict(body: Uint8Array): string {
  const { parsed, facts } = readEvent(body);
  return JSON.stringify([parsed.ok, facts?.type]);
}

function save(path: string, body: Uint8Array, force: boolean): void {
  try {
    writeFileSync(path, body, { flag: force ? 'w' : 'wx', mode: OWNER_ONLY });
  } catch (failure) {
    const exists = (failure as NodeJS.ErrnoException).code === 'EEXIST';
    throw new CommandError(
      exists
        ? `${path} is there already. Give another --out, or --force.`
        : `${path} cannot be written: ${messageOf(failure)}`,
    );
  }
  tell(`${body.byteLength} bytes in ${path}`);
}
