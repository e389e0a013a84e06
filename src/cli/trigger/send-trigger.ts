import { signBody } from '../../signing/signature.ts';
import { tamperedBody, tamperedSignature } from '../../sender/faults.ts';
import { labelOf } from '../../sender/event-json.ts';
import { EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { print, printBytes, tell } from '../shared/output.ts';
import { secretOf } from '../shared/secret-option.ts';
import type { Outgoing } from '../shared/sending/sent-lines.ts';
import type { SendingOptions } from '../shared/sending/sending-options.ts';
import { exitCodeOf, sendAll, tellGone, tellSummary } from '../shared/sending/send-all.ts';
import { targetOf } from '../shared/target-url.ts';
import { checkedBodies } from './checked-bodies.ts';
import { isMadeWhole, isOfId, type BodyMaker, type Changes, type Judge } from './trigger-bodies.ts';

/** What the arguments of `trigger` say. */
export interface TriggerOptions extends SendingOptions, Changes {
  readonly count: number;
  /** a module with the schemas of own types */
  readonly events?: string;
  readonly tamper?: 'body' | 'signature';
  readonly schedule?: 'service';
  readonly timeScale?: number;
  readonly printCurl?: boolean;
  readonly dryRun?: boolean;
  readonly expectStatus?: number;
}

/** What is sent: bytes, and the signature that goes with them. */
interface Signed {
  readonly body: Uint8Array;
  readonly signature: string | null;
}

/** Sends an event, or several, and resolves with how to exit. */
export async function trigger(source: string, options: TriggerOptions): Promise<ExitCode> {
  const { count, dryRun = false, printCurl = false, unsigned = false, schedule, json = false } = options;
  const to = targetOf(options.to, options.allowRemote ?? false);
  assertTogether(options);
  const makeBody = await checkedBodies(source, options, options.events);
  if (dryRun) return printBodies(makeBody, options);

  const secret = unsigned ? null : await secretOf(options);
  const next = (): Signed => signed(makeBody(), secret, options);
  if (printCurl) {
    const { curlCommand } = await import('./curl-text.ts');
    for (let made = 0; made < count; made += 1) {
      const { body, signature } = next();
      print(curlCommand(to, body, signature, options.header).split('\n'));
    }
    return EXIT.ok;
  }

  const signal = interruption();
  const judge = isMadeWhole(source, options) ? fits : (await import('../shared/why-invalid.ts')).whyInvalid;
  if (schedule === 'service') {
    const { deliverOnSchedule } = await import('./deliver-on-schedule.ts');
    return deliverOnSchedule(makeBody, { timeScale: 1, ...options, judge, to, secret: secret ?? '', json, signal });
  }
  const result = await sendAll(outgoing(next, count, judge), { ...options, to, secret, json, signal });
  if (count > 1) tellSummary(result);
  if (result.gone) tellGone(to);
  if (signal.aborted) return EXIT.interrupted;
  return exitCodeOf(result);
}

/** Schemas take a while to load, and what is made of a type alone fits them. */
const fits: Judge = () => null;

async function* outgoing(next: () => Signed, count: number, judge: Judge): AsyncGenerator<Outgoing, void> {
  for (let made = 1; made <= count; made += 1) {
    const { body, signature } = next();
    yield { ...labelOf(body), body, signature, issue: judge(body), share: made / count };
  }
}

/** Signed first and changed then, as on the way. */
function signed(body: Uint8Array, secret: string | null, { tamper }: TriggerOptions): Signed {
  const signature = secret === null ? null : signBody(body, secret);
  return {
    body: tamper === 'body' ? tamperedBody(body, 0.5) : body,
    signature: tamper === 'signature' && signature !== null ? tamperedSignature(signature, 0.5) : signature,
  };
}

/** Nothing but the bytes, so that a pipe gets the body; several are put on lines. */
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
