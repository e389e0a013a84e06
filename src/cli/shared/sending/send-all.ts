import { delay, performance } from '../../../host/real-timers.ts';
import { plural, number } from '../../../ops/words/format.ts';
import { isSuccess } from '../../../sender/deliver.ts';
import { CommandError, EXIT, type ExitCode } from '../exit.ts';
import { STOPS_AFTER_ANSWERS } from '../interruption.ts';
import { tell } from '../output.ts';
import { progressBar } from '../progress-bar.ts';
import { printSent, type Outgoing } from './sent-lines.ts';
import { underWay } from '../interruptible.ts';
import { createSender, type Sent } from './connected-sender.ts';

/** Where to send, and how. */
export interface SendAllOptions {
  readonly to: URL;
  /** `null` sends no signature */
  readonly secret: string | null;
  /** as `--header` gives them */
  readonly header?: readonly string[];
  readonly concurrency: number;
  /** as many a second at most */
  readonly rate?: number;
  readonly json: boolean;
  /** prints only what is not as expected */
  readonly quiet?: boolean;
  /** the only status that is as expected, instead of every 2xx */
  readonly expectStatus?: number;
  /** sends nothing more once it is aborted; what is under way is finished */
  readonly signal: AbortSignal;
}

/** How sending went as a whole. */
export interface SendingResult {
  /** answered as expected */
  readonly ok: number;
  readonly failed: number;
  /** of those that are ok, what the receiver had already */
  readonly duplicates: number;
  readonly ms: number;
  /** the receiver stopped listening */
  readonly gone: boolean;
  /** what would have come next when it was interrupted, or the first that the receiver did not answer any more */
  readonly next: Outgoing | null;
}

const PRUNED: Sent = {
  status: null,
  ms: 0,
  duplicate: null,
  code: null,
  problem: 'pruned: the body was removed',
  refused: false,
};

/** So many refused connections in a row are not a short restart. */
const MOST_REFUSED = 5;

/**
 * Sends one after the other, or some at a time, and prints how each went. Holds only what is under way. Ends early when
 * the receiver stops listening.
 *
 * @throws CommandError when nobody listens at the URL from the beginning
 */
export async function sendAll(items: AsyncGenerator<Outgoing, void>, options: SendAllOptions): Promise<SendingResult> {
  const { to, secret, concurrency, json, quiet = false, expectStatus, header, signal } = options;
  const startedAt = performance.now();
  const headers = header === undefined ? {} : (await import('./given-headers.ts')).givenHeaders(header);
  const sender = createSender(to, secret ?? '', concurrency, headers);
  const progress = progressBar();
  const turn = pace(options.rate, signal);
  const unsent: Outgoing[] = [];
  let silence: Silence | null = null;
  let ok = 0;
  let failed = 0;
  let duplicates = 0;
  let answered = false;
  let stopped = false;

  const isExpected = (status: number | null): boolean =>
    expectStatus === undefined ? isSuccess(status) : status === expectStatus;

  async function sendOne(item: Outgoing): Promise<void> {
    const signature = secret === null ? null : item.signature;
    const before = silence;
    const sent = item.body === null ? PRUNED : await sender.send(item.body, signature);
    if (sent.refused && !answered) throw nobodyListens(to);
    answered ||= sent.status !== null;
    noteSilence(item, sent, before);
    const asExpected = isExpected(sent.status);
    if (asExpected) ok += 1;
    else failed += 1;
    if (asExpected && sent.duplicate === true) duplicates += 1;
    if (!quiet || !asExpected)
      progress.above(() => printSent(item, sent, { asExpected, expected: expectStatus }, json));
    progress.show(item.share, `${number(ok + failed)} sent, ${number(failed)} failed`);
  }

  /** @param before - the silence that there was when it was sent */
  function noteSilence(item: Outgoing, sent: Sent, before: Silence | null): void {
    if (sent === PRUNED || isGone()) return;
    if (sent.status === null) silence = longer(silence, item, sent);
    else if (before !== null) silence = null;
  }

  function isGone(): boolean {
    return (silence?.refused ?? 0) >= MOST_REFUSED;
  }

  async function work(): Promise<void> {
    try {
      for (;;) {
        if (stopped || isGone() || signal.aborted) break;
        const item = await items.next();
        if (item.done === true) break;
        await turn();
        if (isGone() || signal.aborted) unsent.push(item.value);
        else await sendOne(item.value);
      }
    } finally {
      stopped = true;
    }
  }

  async function nextOne(): Promise<Outgoing | null> {
    const unheard = isGone() && silence !== null ? [silence.first] : [];
    const [first] = [...unsent, ...unheard].toSorted((a, b) => a.share - b.share);
    if (first !== undefined) return first;
    const item = await items.next();
    return item.done === true ? null : item.value;
  }

  async function sendThem(): Promise<SendingResult> {
    const ends = await Promise.allSettled(Array.from({ length: concurrency }, work));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    const next = signal.aborted || isGone() ? await nextOne() : null;
    return { ok, failed, duplicates, ms: performance.now() - startedAt, gone: isGone(), next };
  }

  try {
    return await underWay(signal, progress, sendThem, STOPS_AFTER_ANSWERS);
  } finally {
    sender.close();
    await items.return();
  }
}

/** Deliveries without an answer; one that was sent after them and answered ends it. */
interface Silence {
  readonly first: Outgoing;
  readonly refused: number;
}

function longer(silence: Silence | null, item: Outgoing, { refused }: Sent): Silence {
  const first = silence === null || item.share < silence.first.share ? item : silence.first;
  return { first, refused: (silence?.refused ?? 0) + (refused ? 1 : 0) };
}

/** Says when the next one may begin. */
function pace(rate: number | undefined, signal: AbortSignal): () => Promise<void> {
  if (rate === undefined) return () => Promise.resolve();
  let free = 0;
  return async () => {
    const now = performance.now();
    const at = Math.max(free, now);
    free = at + 1_000 / rate;
    if (at > now) await delay(at - now, undefined, { signal }).catch(() => {});
  };
}

function nobodyListens({ origin }: URL): CommandError {
  return new CommandError(
    `No server is listening at ${origin}. Start a receiver with hookbox serve, or pass a different URL with --to.`,
  );
}

/** Tells people how it went. */
export function tellSummary({ ok, failed, duplicates, ms }: SendingResult): void {
  const rate = Math.round((ok + failed) / Math.max(ms / 1_000, 0.001));
  const known = duplicates === 0 ? '' : ` (${plural(duplicates, 'duplicate')})`;
  tell(`${number(ok + failed)} sent: ${number(ok)} ok${known}, ${number(failed)} failed, ${number(rate)} per second`);
}

/** Tells people why it ended early. */
export function tellGone({ origin }: URL): void {
  tell(`The server at ${origin} is no longer listening. The remaining deliveries were not sent.`);
}

/** All, some or none were as expected. */
export function exitCodeOf({ ok, failed }: Pick<SendingResult, 'ok' | 'failed'>): ExitCode {
  if (failed === 0) return EXIT.ok;
  return ok === 0 ? EXIT.failed : EXIT.partial;
}
