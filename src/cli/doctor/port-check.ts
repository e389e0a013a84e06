import { once } from 'node:events';
import { createServer } from 'node:net';
import { messageOf } from '../../errors.ts';
import { ok, problem, type Finding } from './finding.ts';

const HOST = '127.0.0.1';
const ANSWER_MS = 1_000;

/** Whether a receiver could listen there; one that does so already is as well. */
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

/** Why nothing can listen on a port, and what to do. */
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
