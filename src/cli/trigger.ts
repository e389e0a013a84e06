import { utf8Text } from '../events/json.ts';
import type { Issue } from '../events/webhook-event.ts';
import { inQuotes } from '../host/shell-words.ts';
import { oneLine, isPrintable } from '../printable.ts';
import { labelOf } from '../sender/event-json.ts';
import { tamperedBody, tamperedSignature, MAX_ATTEMPTS, retryAfter } from '../sender/faults.ts';
import { realClock } from '../sender/sender-clock.ts';
import { createService, type DeliveryAttempt } from '../sender/service.ts';
import { signBody } from '../signing/signature.ts';
import { interruption, STOPS_AFTER_ANSWERS } from './shared/interruption.ts';
import { type SendingOptions, targetOf } from './shared/options.ts';
import {
  EXIT,
  usageError,
  type ExitCode,
  print,
  printBytes,
  tell,
  issueText,
  printNdjson,
  styled,
  tenths,
  tookText,
  withOwnModule,
} from './shared/output.ts';
import { secretOf } from './shared/secret.ts';
import { type Outgoing, exitCodeOf, sendAll, tellGone, tellSummary, givenHeaders } from './shared/sending.ts';
import { checkedBodies, isMadeWhole, isOfId, type BodyMaker, type Changes, type Judge } from './trigger-body.ts';

interface TriggerOptions extends SendingOptions, Changes {
  readonly count: number;
  readonly events?: string;
  readonly tamper?: 'body' | 'signature';
  readonly schedule?: 'service';
  readonly timeScale?: number;
  readonly printCurl?: boolean;
  readonly dryRun?: boolean;
  readonly expectStatus?: number;
}

interface Signed {
  readonly body: Uint8Array;
  readonly signature: string | null;
}

export async function trigger(source: string, options: TriggerOptions): Promise<void> {
  await withOwnModule(options.events, async () => {
    process.exitCode = await triggered(source, options);
  });
}

async function triggered(source: string, options: TriggerOptions): Promise<ExitCode> {
  const { count, dryRun = false, printCurl = false, unsigned = false, schedule, json = false } = options;
  const to = targetOf(options.to, options.allowRemote ?? false);
  assertTogether(options);
  const makeBody = await checkedBodies(source, options, options.events);
  if (dryRun) return printBodies(makeBody, options);

  const secret = unsigned ? null : await secretOf(options);
  const next = (): Signed => signed(makeBody(), secret, options);
  if (printCurl) {
    for (let made = 0; made < count; made += 1) print(curlCommand(to, next(), options.header).split('\n'));
    return EXIT.ok;
  }

  const signal = interruption();
  const judge = isMadeWhole(source, options) ? fits : (await import('./shared/own-module.ts')).whyInvalid;
  if (schedule === 'service') return deliverOnSchedule(makeBody, judge, to, secret ?? '', signal, options);
  const result = await sendAll(outgoing(next, count, judge), { ...options, to, secret, json, signal });
  if (count > 1) tellSummary(result);
  if (result.gone) tellGone(to);
  return signal.aborted ? EXIT.interrupted : exitCodeOf(result);
}

/** Loading schemas takes time, and an event made from a type always fits them. */
const fits: Judge = () => null;

async function* outgoing(next: () => Signed, count: number, judge: Judge): AsyncGenerator<Outgoing, void> {
  for (let made = 1; made <= count; made += 1) {
    const { body, signature } = next();
    yield { ...labelOf(body), body, signature, issue: judge(body), share: made / count };
  }
}

/** Changes the delivery after signing, as a proxy could. */
function signed(body: Uint8Array, secret: string | null, { tamper }: TriggerOptions): Signed {
  const signature = secret === null ? null : signBody(body, secret);
  return {
    body: tamper === 'body' ? tamperedBody(body, 0.5) : body,
    signature: tamper === 'signature' && signature !== null ? tamperedSignature(signature, 0.5) : signature,
  };
}

function printBodies(makeBody: BodyMaker, { count, tamper }: TriggerOptions): ExitCode {
  for (let made = 0; made < count; made += 1) {
    if (made > 0) print('');
    const body = makeBody();
    printBytes(tamper === 'body' ? tamperedBody(body, 0.5) : body);
  }
  if (process.stdout.isTTY) tell('');
  return EXIT.ok;
}

function assertTogether(options: TriggerOptions): void {
  const { schedule, timeScale, tamper, unsigned, expectStatus, dryRun, printCurl, eventId, override } = options;
  if (schedule === undefined && timeScale !== undefined)
    throw usageError('--time-scale works only with --schedule. Add --schedule service.');
  if (dryRun === true && printCurl === true) throw usageError('Use --dry-run or --print-curl, not both.');
  if (eventId !== undefined && override?.some(isOfId) === true) {
    throw usageError('Use --event-id or --override id=…, not both.');
  }
  if (tamper === 'signature' && unsigned === true)
    throw usageError('--tamper signature needs a signature. Remove --unsigned.');
  if (schedule !== undefined && (unsigned ?? tamper ?? expectStatus) !== undefined) {
    throw usageError(
      '--schedule delivers as the service does. Do not combine it with --tamper, --unsigned or --expect-status.',
    );
  }
}

async function deliverOnSchedule(
  makeBody: BodyMaker,
  judge: Judge,
  url: URL,
  secret: string,
  signal: AbortSignal,
  { header, count, concurrency, timeScale = 1, json = false }: TriggerOptions,
): Promise<ExitCode> {
  const issues = new Map<string | null, Issue>();
  signal.addEventListener('abort', () => tell(STOPS_AFTER_ANSWERS));
  using service = createService({
    url,
    secret,
    headers: givenHeaders(header),
    concurrency,
    clock: realClock({ scale: timeScale }),
    signal,
    onAttempt: (attempt) => {
      const issue = issues.get(attempt.id) ?? null;
      if (json) printNdjson({ ...attempt, ms: tenths(attempt.ms), ...(issue && { invalid: issue }) });
      else printAttempt(attempt, issue, timeScale);
    },
  });
  const deliverNext = () => {
    const body = makeBody();
    const issue = judge(body);
    if (issue !== null) issues.set(labelOf(body).id, issue);
    return service.deliver(body);
  };
  const ends = await Promise.all(Array.from({ length: count }, deliverNext));
  const ended = (outcome: string): number => ends.filter((end) => end.outcome === outcome).length;
  const ok = ended('delivered');
  const failed = ended('dead-lettered');
  const interrupted = ended('interrupted');
  const tries = failed > 0 ? ` after ${MAX_ATTEMPTS} tries` : '';
  tell(`${ok} delivered, ${failed} dead-lettered${tries}${interrupted > 0 ? `, ${interrupted} interrupted` : ''}`);
  return interrupted > 0 ? EXIT.interrupted : exitCodeOf({ ok, failed });
}

function printAttempt(attempt: DeliveryAttempt, issue: Issue | null, timeScale: number): void {
  const { id, type, number, status, why, ms } = attempt;
  const fate = issue === null ? '' : `hookbox considers it invalid: ${issueText(issue)}`;
  const columns = [
    styled(why === null ? 'green' : 'red', String(status ?? '---')),
    why === null ? 'delivered' : oneLine(why),
    type === null ? '-' : oneLine(type),
    id === null ? '-' : oneLine(id),
    `try ${number}`,
    tookText(ms),
    why === null ? fate : afterwards(retryAfter(number), timeScale),
  ];
  print(columns.join('  ').trimEnd());
}

function afterwards(ms: number | null, timeScale: number): string {
  if (ms === null) return 'given up';
  const minutes = Math.round(ms / 60_000);
  if (minutes === 0) return 'again now';
  const wait = minutes < 60 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
  return timeScale === 1 ? `again in ${wait}` : `again in ${wait} (${(ms / timeScale / 1_000).toFixed(1)} s here)`;
}

/** printf and a pipe take a body of any length; curl would read a file if the body began with @. */
function curlCommand(to: URL, { body, signature }: Signed, given: readonly string[] = []): string {
  const usual = { 'Content-Type': 'application/json', ...(signature !== null && { 'X-Signature': signature }) };
  const replaced = new Set(Object.keys(givenHeaders(given)).map((name) => name.toLowerCase()));
  const kept = Object.entries(usual).filter(([name]) => !replaced.has(name.toLowerCase()));
  const lines = [
    `${printing(body)} | curl -sS ${inQuotes(to.href)}`,
    ...kept.map(([name, value]) => `-H '${name}: ${value}'`),
    ...given.map((header) => `-H ${inQuotes(header)}`),
    '--data-binary @-',
  ];
  return lines.join(' \\\n  ');
}

/** printf interprets `%`, `\\`, and a leading `-`. */
const SPECIAL = new Set([0x25, 0x5c, 0x2d]);

/** Text stays readable; other bytes become octal escapes. */
function printing(body: Uint8Array): string {
  const text = textOf(body);
  if (text !== null) return `printf %s ${inQuotes(text)}`;
  const escaped = Array.from(body, (byte) => {
    const isPlain = byte >= 0x20 && byte < 0x7f && !SPECIAL.has(byte);
    return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  });
  return `printf ${inQuotes(escaped.join(''))}`;
}

/** `null` for bytes that a terminal or a shell would change. */
function textOf(body: Uint8Array): string | null {
  const text = utf8Text(body);
  if (text === null || Buffer.byteLength(text) < body.byteLength) return null;
  return /\t|\r/.test(text) || !isPrintable(text) ? null : text;
}
