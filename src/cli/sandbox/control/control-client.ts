import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { CommandError, EXIT, usageError } from '../../shared/exit.ts';
import { isLoopback, withScheme } from '../../shared/target-url.ts';
import { connectionFailure } from '../../shared/unreachable.ts';
import type { Act } from './acts.ts';
import { CONTROL_PATH, DEFAULT_AT } from './address.ts';
import { tokenOf } from './token-file.ts';

/**
 * Has a sandbox that this user runs on this machine do something, and resolves with what came of it. It takes as long as it takes:
 * a clock that is moved by days may have many deliveries to wait for.
 *
 * @throws CommandError that says what to do
 */
export async function steer<Result>(at: string, act: Act): Promise<Result> {
  const { status, body } = await post(addressOf(at), JSON.stringify(act));
  if (status === 200) return (body as { readonly result: Result }).result; // as control-path.ts answers
  const { message = `The sandbox has answered ${status}.` } = body as { readonly message?: string };
  throw new CommandError(message, status === 404 ? EXIT.notFound : status === 422 ? EXIT.usage : EXIT.failed);
}

/** Only this machine: the token must not leave it. */
function addressOf(at: string): URL {
  const whole = withScheme(at);
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url?.protocol === 'http:' && isLoopback(url.hostname)) return url;
  throw usageError(
    `--at ${JSON.stringify(at)} is no sandbox of this machine. Write http://127.0.0.1: and its port, such as ${DEFAULT_AT}.`,
  );
}

async function post({ origin, hostname, port }: URL, sent: string): Promise<{ status: number; body: unknown }> {
  const token = tokenOf(Number(port || 80));
  if (token === null) {
    const message = `This user runs no sandbox at ${origin}. Start it with hookbox sandbox, or say with --at where it is.`;
    throw new CommandError(message, EXIT.notFound);
  }
  const asked = request({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 80),
    method: 'POST',
    path: CONTROL_PATH,
    agent: false,
    headers: {
      Authorization: `Bearer ${token}`,
      Origin: origin,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(sent),
    },
  });
  asked.end(sent);
  try {
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, body: JSON.parse(await text(answer)) };
  } catch (failure) {
    const why = connectionFailure(failure);
    throw new CommandError(`The sandbox at ${origin} does not answer: ${why}. Is it running still?`);
  }
}
