import { once } from 'node:events';
import { createServer } from 'node:net';
import { messageOf } from '../../errors.ts';
import { ok, problem, type Finding } from './finding.ts';

const HOST = '127.0.0.1';
const ANSWER_MS = 1_000;

/** Whether a receiver could listen there; one that does so already is as well. */
export async function checkPort(port: number): Promise<Finding> {
  if (port === 0) return ok('port', 'any free one will do');
  const server = createServer();
  try {
    server.listen(port, HOST);
    await once(server, 'listening');
    return ok('port', `${port} is free`);
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await answersLikeHookbox(port)))
      return ok('port', `a receiver listens on ${port} already`);
    const what =
      code === 'EADDRINUSE' ? `another program listens on ${port}` : `${port} cannot be used: ${messageOf(failure)}`;
    return problem('port', what, 'Give another --port, or end that program.');
  } finally {
    server.close();
  }
}

/** Every receiver refuses GET in the same way. */
async function answersLikeHookbox(port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://${HOST}:${port}/webhooks`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return answer.status === 405 && (await answer.text()).includes('METHOD_NOT_ALLOWED');
  } catch {
    return false;
  }
}
