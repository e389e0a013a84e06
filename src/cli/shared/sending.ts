import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http';
import { messageOf } from '../../errors.ts';
import type { Issue } from '../../events/webhook-event.ts';
import { delay, performance } from '../../host/real-timers.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import { number, plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { agentFor, deliver, DeliveryError, isSuccess, type Answer } from '../../sender/deliver.ts';
import { readText } from './files.ts';
import { STOPS_AFTER_ANSWERS, underWay, type Progress } from './interruption.ts';
import { present } from './options.ts';
import {
  CommandError,
  EXIT,
  invalidText,
  print,
  printNdjson,
  styled,
  tell,
  tenths,
  tookText,
  usageError,
  type ExitCode,
} from './output.ts';

export interface Outgoing {
  readonly id: string | null;
  readonly type: string | null;
  /** `null` if the event was pruned */
  readonly body: Uint8Array | null;
  readonly signature?: string | null;
  /** of all work, from 0 to 1 */
  readonly share: number;
  /** why hookbox stores the body as invalid */
  readonly issue?: Issue | null;
  readonly source?: Source;
  /** the option that continues from it */
  readonly resume?: string;
}

type Source = { readonly file: string } | Pick<StoredEvent, 'endpoint' | 'seq' | 'state' | 'verified' | 'receivedAt'>;

interface SendAllOptions {
  readonly to: URL;
  /** `null` sends no signature */
  readonly secret: string | null;
  readonly header?: readonly string[];
  readonly concurrency: number;
  readonly rate?: number;
  readonly json: boolean;
  readonly quiet?: boolean;
  /** instead of any 2xx */
  readonly expectStatus?: number;
  readonly signal: AbortSignal;
}

export interface SendingResult {
  readonly ok: number;
  readonly failed: number;
  readonly duplicates: number;
  readonly ms: number;
  readonly gone: boolean;
  /** the first one that was not sent or got no response */
  readonly next: Outgoing | null;
}

/** More failures than this are not a short restart. */
const MOST_REFUSED = 5;

/** Ends early if the receiver stops listening. */
export async function sendAll(items: AsyncGenerator<Outgoing, void>, options: SendAllOptions): Promise<SendingResult> {
  const { to, secret, concurrency, quiet = false, expectStatus, header, signal } = options;
  const startedAt = performance.now();
  const agent = agentFor(to, concurrency);
  const delivery = { secret: secret ?? '', agent, headers: givenHeaders(header) };
  const turn = pace(options.rate, signal);
  const unsent: Outgoing[] = [];
  let silence: Silence | null = null;
  let ok = 0;
  let failed = 0;
  let duplicates = 0;
  let answered = false;
  let stopped = false;

  async function sendOne(item: Outgoing, progress: Progress): Promise<void> {
    const before = silence;
    const signature = secret === null ? null : item.signature;
    const sent =
      item.body === null ? PRUNED : await sendBody(to, item.body, { ...delivery, ...present({ signature }) });
    if (sent.refused && !answered) {
      throw new CommandError(
        `No server is listening at ${to.origin}. Start a receiver with hookbox serve, or pass a different URL with --to.`,
      );
    }
    answered ||= sent.status !== null;
    if (item.body !== null && !isGone()) {
      if (sent.status === null) {
        const first = silence === null || item.share < silence.first.share ? item : silence.first;
        silence = { first, refused: (silence?.refused ?? 0) + Number(sent.refused) };
      } else if (before !== null) silence = null;
    }
    const asExpected = expectStatus === undefined ? isSuccess(sent.status) : sent.status === expectStatus;
    if (asExpected) ok += 1;
    else failed += 1;
    if (asExpected && sent.duplicate === true) duplicates += 1;
    if (!quiet || !asExpected) progress.above(() => printSent(item, sent, asExpected, options));
    progress.show(item.share, `${number(ok + failed)} sent, ${number(failed)} failed`);
  }

  function isGone(): boolean {
    return (silence?.refused ?? 0) >= MOST_REFUSED;
  }

  async function work(progress: Progress): Promise<void> {
    try {
      for (;;) {
        if (stopped || isGone() || signal.aborted) break;
        const item = await items.next();
        if (item.done === true) break;
        await turn();
        if (isGone() || signal.aborted) unsent.push(item.value);
        else await sendOne(item.value, progress);
      }
    } finally {
      stopped = true;
    }
  }

  async function nextOne(): Promise<Outgoing | null> {
    const unanswered = isGone() && silence !== null ? [silence.first] : [];
    const [first] = [...unsent, ...unanswered].toSorted((a, b) => a.share - b.share);
    return first ?? (await items.next()).value ?? null;
  }

  try {
    return await underWay(
      signal,
      async (progress) => {
        const ends = await Promise.allSettled(Array.from({ length: concurrency }, () => work(progress)));
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
        const next = signal.aborted || isGone() ? await nextOne() : null;
        return { ok, failed, duplicates, ms: performance.now() - startedAt, gone: isGone(), next };
      },
      STOPS_AFTER_ANSWERS,
    );
  } finally {
    agent.destroy();
    await items.return();
  }
}

/** The number of deliveries without a response in a row. */
interface Silence {
  readonly first: Outgoing;
  readonly refused: number;
}

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

export function tellSummary({ ok, failed, duplicates, ms }: SendingResult): void {
  const rate = Math.round((ok + failed) / Math.max(ms / 1_000, 0.001));
  const known = duplicates === 0 ? '' : ` (${plural(duplicates, 'duplicate')})`;
  tell(`${number(ok + failed)} sent: ${number(ok)} ok${known}, ${number(failed)} failed, ${number(rate)} per second`);
}

export function tellGone({ origin }: URL): void {
  tell(`The server at ${origin} is no longer listening. The remaining deliveries were not sent.`);
}

export function exitCodeOf({ ok, failed }: Pick<SendingResult, 'ok' | 'failed'>): ExitCode {
  if (failed === 0) return EXIT.ok;
  return ok === 0 ? EXIT.failed : EXIT.partial;
}

interface Sent {
  readonly status: number | null;
  readonly ms: number;
  /** `null` unless a hookbox receiver accepted the event */
  readonly duplicate: boolean | null;
  readonly code: string | null;
  readonly problem: string | null;
  readonly refused: boolean;
}

const UNANSWERED = { status: null, ms: 0, duplicate: null, code: null, refused: false } as const;
const PRUNED: Sent = { ...UNANSWERED, problem: 'pruned: the body was removed' };

async function sendBody(to: URL, body: Uint8Array, options: Parameters<typeof deliver>[2]): Promise<Sent> {
  const startedAt = performance.now();
  const elapsed = (): number => tenths(performance.now() - startedAt);
  try {
    const answer = await deliver(to, body, options);
    return { status: answer.status, ms: elapsed(), ...saidBy(answer), refused: false };
  } catch (failure) {
    const refused = failure instanceof DeliveryError && failure.code === 'REFUSED';
    return { ...UNANSWERED, ms: elapsed(), problem: oneLine(messageOf(failure)), refused };
  }
}

function saidBy({ status, headers, body }: Answer): Pick<Sent, 'duplicate' | 'code' | 'problem'> {
  const { duplicate, error } = jsonOf(body);
  const code = typeof error?.code === 'string' ? oneLine(error.code, 60) : null;
  if (status >= 300 && status < 400) {
    const location = typeof headers['location'] === 'string' ? ` (to ${oneLine(headers['location'])})` : '';
    return { duplicate: null, code, problem: `hookbox does not follow redirects${location}` };
  }
  if (status < 200 || status >= 400) return { duplicate: null, code, problem: code ?? STATUS_CODES[status] ?? null };
  return { duplicate: typeof duplicate === 'boolean' ? duplicate : null, code: null, problem: null };
}

function jsonOf(text: string): { readonly duplicate?: unknown; readonly error?: { readonly code?: unknown } | null } {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function printSent(
  { id, type, source, issue = null }: Outgoing,
  sent: Sent,
  asExpected: boolean,
  { json, expectStatus: expected }: SendAllOptions,
): void {
  const { status, ms, duplicate, code, problem } = sent;
  // Only hookbox answers `false`; for a duplicate, it keeps the first body.
  const invalid = duplicate === false ? issue : null;
  if (json) {
    const outcome = { ok: asExpected, status, ...present({ expected }), ms, duplicate, code, problem };
    printNdjson({ id, type, ...source, ...outcome, ...(invalid !== null && { invalid }) });
    return;
  }
  const accepted = duplicate === null ? 'accepted' : duplicate ? 'duplicate' : 'stored';
  const columns = [
    styled(asExpected ? 'green' : 'red', String(status ?? '---')),
    (problem ?? accepted).padEnd(9),
    (type === null ? '-' : oneLine(type)).padEnd(22),
    nameOf({ id, source }),
    tookText(ms),
    ...(asExpected || expected === undefined ? [] : [`expected ${expected}`]),
    ...(invalid === null ? [] : [styled('yellow', invalidText(invalid))]),
  ];
  print(columns.join('  '));
}

export function nameOf({ id, source }: { readonly id: string | null; readonly source?: Source | undefined }): string {
  if (id !== null) return oneLine(id);
  return source !== undefined && 'file' in source ? oneLine(source.file) : '-';
}

/** The body decides these. */
const OF_THE_BODY: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/** `Name: value`, or `@` and a file with one per line. Errors quote no value: it may be a password. */
export function givenHeaders(given: readonly string[] = []): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given
      .flatMap((each) => (each.startsWith('@') ? linesOf(each.slice(1)) : [each]))
      .map((line) => {
        const [, name = '', value = ''] = /^([^:]+):(.*)$/.exec(line) ?? [];
        try {
          validateHeaderName(name);
          validateHeaderValue(name, value.trim());
        } catch {
          throw usageError("--header must be 'Name: value', or @ followed by a file with one header per line.");
        }
        if (OF_THE_BODY.has(name.toLowerCase()))
          throw usageError(`--header cannot set ${name}: hookbox sets it from the body.`);
        return [name, value.trim()];
      }),
  );
}

function linesOf(path: string): readonly string[] {
  return readText(path, 'the file of --header')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '');
}
