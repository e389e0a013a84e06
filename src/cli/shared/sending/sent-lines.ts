import type { Issue } from '../../../events/webhook-event.ts';
import type { StoredEvent } from '../../../inbox/event.ts';
import { oneLine } from '../../../printable.ts';
import { invalidText } from '../invalid-text.ts';
import { print, printNdjson, styled, tookText } from '../output.ts';
import type { Sent } from './connected-sender.ts';

/** One delivery that is to be made. */
export interface Outgoing {
  readonly id: string | null;
  readonly type: string | null;
  /** `null` for an event that was pruned: its bytes are gone */
  readonly body: Uint8Array | null;
  /** sent instead of the right one; `null` sends none */
  readonly signature?: string | null;
  /** how much of the work is done with it, from 0 to 1 */
  readonly share: number;
  /** what does not fit in its body; hookbox stores it as invalid then */
  readonly issue?: Issue | null;
  readonly source?: Source;
  /** the option that begins with it when the same is sent again */
  readonly resume?: string;
}

/** Where a body came from. */
export type Source =
  | { readonly file: string }
  | Pick<StoredEvent, 'endpoint' | 'seq' | 'state' | 'verified' | 'receivedAt'>;

/** What an answer is measured by. */
export interface Judged {
  readonly asExpected: boolean;
  /** the only status that is right; `undefined` where every 2xx is */
  readonly expected: number | undefined;
}

/** Prints how one delivery went: a line for people, or a JSON document. */
export function printSent(
  { id, type, source, issue = null }: Outgoing,
  sent: Sent,
  judged: Judged,
  json: boolean,
): void {
  const { asExpected, expected } = judged;
  const { status, ms, duplicate, code, problem } = sent;
  // Only hookbox says `false`; and of a duplicate it has kept what came first.
  const invalid = duplicate === false ? issue : null;
  if (json) {
    printNdjson({
      id,
      type,
      ...source,
      ok: asExpected,
      status,
      ...(expected !== undefined && { expected }),
      ms,
      duplicate,
      code,
      problem,
      ...(invalid !== null && { invalid }),
    });
    return;
  }
  const colour = asExpected ? 'green' : 'red';
  const columns = [
    styled(colour, String(status ?? '---')),
    (problem ?? word(duplicate)).padEnd(9),
    (type === null ? '-' : oneLine(type)).padEnd(22),
    nameOf({ id, source }),
    tookText(ms),
    ...(asExpected || expected === undefined ? [] : [`expected ${expected}`]),
    ...(invalid === null ? [] : [styled('yellow', invalidText(invalid))]),
  ];
  print(columns.join('  '));
}

/** The event's id, or the file of a body that does not say one. */
export function nameOf({ id, source }: { readonly id: string | null; readonly source?: Source | undefined }): string {
  if (id !== null) return oneLine(id);
  return source !== undefined && 'file' in source ? oneLine(source.file) : '-';
}

function word(duplicate: boolean | null): string {
  if (duplicate === null) return 'accepted';
  return duplicate ? 'duplicate' : 'stored';
}
