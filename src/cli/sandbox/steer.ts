import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { clearTimeout, setTimeout } from '../../host/real-timers.ts';
import { oneLine } from '../../printable.ts';
import { CommandError, EXIT, usageError, tell } from '../shared/output.ts';
import { isLoopback, withScheme } from '../shared/options.ts';
import { connectionFailure } from '../shared/unreachable.ts';
import type { Act, Answer, UnderWay } from './control-server.ts';
import { seal, tokenOf, unseal } from './control-token.ts';
import { CONTROL_PATH, DEFAULT_AT } from './sandbox-address.ts';

/**
 * Sends an action to a sandbox of this user on this machine, and resolves with its result. It has no time limit: a
 * clock that moves by days may wait for many deliveries.
 *
 * @throws CommandError that says what to do
 */
export async function steer<Result>(at: string, act: Act): Promise<Result> {
  const answer = await post(addressOf(at), JSON.stringify(act));
  const { status, result, message = `The sandbox returned ${status}.` } = answer;
  if (status === 200) return result as Result; // as control-server.ts answers
  throw new CommandError(message, status === 404 ? EXIT.notFound : status === 422 ? EXIT.usage : EXIT.failed);
}

const LOOK_EVERY_MS = 1_000;

/**
 * Steers as `steer` does, and says for which receiver it waits, once for each try that takes longer than a moment.
 *
 * @throws CommandError that says what to do
 */
export async function steerPatiently<Result>(at: string, act: Act): Promise<Result> {
  const told = new Set<string>();
  let before: ReadonlySet<string> = new Set();
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    // A sandbox that does not answer fails the action itself.
    const waiting = await steer<readonly UnderWay[]>(at, { act: 'under-way' }).catch(() => []);
    if (isOver) return;
    const keyed = new Map(waiting.map((one) => [`${one.delivery}/${one.number}`, one]));
    for (const [key, { url, type, event, number }] of keyed) {
      if (!before.has(key) || told.has(key)) continue;
      told.add(key);
      const whom = url ?? 'a receiver in code';
      tell(
        `Waiting for ${whom} to answer ${oneLine(type)} ${event} (attempt ${number}). An attempt fails after 10 s without an answer.`,
      );
    }
    before = new Set(keyed.keys());
    timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  }

  timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  try {
    return await steer<Result>(at, act);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** Another machine has no sandbox of this user. */
function addressOf(at: string): URL {
  const whole = withScheme(at);
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url?.protocol === 'http:' && isLoopback(url.hostname)) return url;
  throw usageError(
    `--at ${JSON.stringify(at)} is not a sandbox on this machine. Use http://127.0.0.1 with the port of the sandbox, such as ${DEFAULT_AT}.`,
  );
}

async function post({ origin, hostname, port }: URL, act: string): Promise<Answer> {
  const token = tokenOf(Number(port || 80));
  if (token === null) {
    const message = `You have no running sandbox at ${origin}. Start one with hookbox sandbox, or pass the address of a running sandbox with --at.`;
    throw new CommandError(message, EXIT.notFound);
  }
  const sent = seal(token, act);
  const asked = request({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 80),
    method: 'POST',
    path: CONTROL_PATH,
    agent: false,
    headers: { Origin: origin, 'Content-Type': 'text/plain', 'Content-Length': sent.length },
  });
  asked.end(sent);
  const opened = unseal(token, await answerOf(asked, origin), sent);
  if (opened === null) {
    throw new CommandError(
      `The program at ${origin} could not read the command, so it is not the sandbox that you started there. Restart the sandbox.`,
    );
  }
  return JSON.parse(opened) as Answer;
}

async function answerOf(asked: ClientRequest, origin: string): Promise<string> {
  try {
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return await text(response);
  } catch (failure) {
    const why = connectionFailure(failure);
    throw new CommandError(`The sandbox at ${origin} does not answer: ${why}. Check that it is running.`);
  }
}
