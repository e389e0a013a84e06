import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { arch, platform, release } from 'node:os';
import { messageOf } from '../../errors.ts';
import { ephemeralHost } from '../../host/files.ts';
import { nodeTooOld } from '../../host/node-version.ts';
import { delay, performance } from '../../host/real-timers.ts';
import { isPrintable } from '../../printable.ts';
import { signBody } from '../../signing/signature.ts';

export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem';
  readonly what: string;
  readonly advice: string | null;
}

export function ok(check: string, what: string): Finding {
  return { check, status: 'ok', what, advice: null };
}

export function warning(check: string, what: string, advice: string): Finding {
  return { check, status: 'warning', what, advice };
}

export function problem(check: string, what: string, advice: string): Finding {
  return { check, status: 'problem', what, advice };
}

export function checkNode(version: string = process.versions.node): Finding {
  const tooOld = nodeTooOld(version);
  if (tooOld === null) return ok('node', `Node ${version}`);
  return problem('node', tooOld, 'Install a newer Node, such as the current LTS release.');
}

export function checkPlatform(): Finding {
  return ok('platform', `${platform()} ${release()}, ${arch()}`);
}

export function checkHost(variables?: Readonly<Record<string, string | undefined>>): Finding {
  const host = ephemeralHost(variables);
  if (host === null) return ok('host', 'no host with a temporary disk was detected');
  return problem(
    'host',
    `${host.name}: ${host.fate}`,
    'Use an inbox in Postgres (hookbox/postgres), or run the receiver on a machine with a permanent ' +
      'disk, or verify with webhookVerifier and put the events into a durable queue.',
  );
}

export function checkSecret(secretFile: string | undefined): Finding {
  if (secretFile === undefined) return judgeSecret(process.env['SIGNING_SECRET'] ?? '', 'SIGNING_SECRET');
  try {
    // Editors end the last line of a file. This newline is not part of the secret.
    return judgeSecret(readFileSync(secretFile, 'utf8').replace(/\r?\n$/, ''), secretFile);
  } catch (failure) {
    return problem('secret', `hookbox cannot read the file: ${messageOf(failure)}`, 'Use a different --secret-file.');
  }
}

function judgeSecret(secret: string, where: string): Finding {
  if (secret === '') {
    const advice = 'Set SIGNING_SECRET to the signing secret from the dashboard, or pass --secret-file.';
    return problem('secret', `${where} is missing or empty`, advice);
  }
  try {
    signBody('', secret);
  } catch (failure) {
    return problem('secret', `${where}: ${messageOf(failure)}`, 'Use the signing secret from the dashboard.');
  }
  const odd = oddity(secret);
  if (odd === null) return ok('secret', `${where} is set`);
  return warning('secret', `the secret in ${where} ${odd}`, 'Compare this secret with the secret in the dashboard.');
}

const SHORT = 16;

function oddity(secret: string): string | null {
  if (secret.trim() !== secret) return 'begins or ends with white space, which hookbox treats as part of the secret';
  if (/^(["'`]).*\1$/s.test(secret)) return 'has quotation marks around it, which are part of the secret';
  if (/[^\S ]/.test(secret) || !isPrintable(secret)) return 'contains invisible characters';
  if (/[^\x20-\x7e]/.test(secret)) return 'contains non-ASCII characters';
  if (/^\$\{?\w+\}?$|^<.*>$/.test(secret)) return 'looks like a placeholder';
  return secret.length < SHORT ? `has fewer than ${SHORT} characters` : null;
}

const SAMPLE_MS = 200;

export async function checkClock(files: readonly string[]): Promise<Finding> {
  const wall = Date.now();
  const monotonic = performance.now();
  await delay(SAMPLE_MS);
  const drift = Date.now() - wall - (performance.now() - monotonic);
  const times = files.filter((file) => existsSync(file)).map((file) => ({ file, at: statSync(file).mtimeMs }));
  return judgeClock(wall, drift, times);
}

/** hookbox is newer than this time. */
const EARLIEST = Date.UTC(2024, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const TOLERATED_DRIFT_MS = 50;
const TOLERATED_FUTURE_MS = 60_000;

/** @param driftMs - how far the clock moved by itself during the sample */
export function judgeClock(
  now: number,
  driftMs: number,
  files: readonly { readonly file: string; readonly at: number }[],
): Finding {
  const shown = new Date(now).toISOString();
  const advice = 'Set the clock with NTP: retries and the order of events depend on the clock.';
  if (now < EARLIEST || now > LATEST) return problem('clock', `the clock shows ${shown}`, advice);
  const future = files.find(({ at }) => at > now + TOLERATED_FUTURE_MS);
  if (future !== undefined) {
    const what = `the clock shows ${shown}, but ${future.file} was last modified after that time`;
    return warning('clock', what, `${advice} The clock was ahead then, or is behind now.`);
  }
  if (Math.abs(driftMs) > TOLERATED_DRIFT_MS) {
    const what = `the clock jumped by ${Math.round(driftMs)} ms within ${SAMPLE_MS} ms`;
    return warning('clock', what, `${advice} Another program may be changing the clock.`);
  }
  return ok('clock', `the clock shows ${shown}`);
}

const HOST = '127.0.0.1';

export async function checkPort(port: number): Promise<Finding> {
  if (port === 0) return ok('port', '0 selects any free port');
  const server = createServer();
  try {
    server.listen(port, HOST);
    await once(server, 'listening');
    return ok('port', `${port} is free`);
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await answersLikeHookbox(port)))
      return ok('port', `a receiver is already listening on ${port}`);
    return unusable(port, failure as NodeJS.ErrnoException);
  } finally {
    server.close();
  }
}

export function unusable(port: number, failure: NodeJS.ErrnoException): Finding {
  if (failure.code === 'EADDRINUSE') {
    return problem('port', `another program is listening on ${port}`, 'Use a different --port, or stop that program.');
  }
  const advice =
    failure.code === 'EACCES'
      ? 'This user cannot listen on ports below 1024. Use a --port above 1023.'
      : 'Use a different --port.';
  return problem('port', `hookbox cannot use ${port}: ${messageOf(failure)}`, advice);
}

/** Every receiver rejects GET in the same way. */
async function answersLikeHookbox(port: number): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(1_000);
    const answer = await fetch(`http://${HOST}:${port}/webhooks`, { redirect: 'manual', signal });
    return answer.status === 405 && (await answer.text()).includes('METHOD_NOT_ALLOWED');
  } catch {
    return false;
  }
}
