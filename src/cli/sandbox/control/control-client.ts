import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { CommandError, EXIT, usageError } from '../../shared/output.ts';
import { isLoopback, withScheme } from '../../shared/options.ts';
import { connectionFailure } from '../../shared/unreachable.ts';
import type { Act } from './acts.ts';
import { CONTROL_PATH, DEFAULT_AT } from './address.ts';
import type { Answer } from './control-path.ts';
import { seal, unseal } from './sealed.ts';
import { tokenOf } from './token-file.ts';

/**
 * Sends an action to a sandbox of this user on this machine, and resolves with its result. It has no time limit: a
 * clock that moves by days may wait for many deliveries.
 *
 * @throws CommandError that says what to do
 */
export async function steer<Result>(at: string, act: Act): Promise<Result> {
  const {
    status,
    result,
    message = `The sandbox returned ${status}.`,
  } = await post(addressOf(at), JSON.stringify(act));
  if (status === 200) return result as Result; // as control-path.ts answers
  throw new CommandError(message, status === 404 ? EXIT.notFound : status === 422 ? EXIT.usage : EXIT.failed);
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
