import { createHash, timingSafeEqual } from 'node:crypto';
import { ConfigurationError, messageOf } from '../../../errors.ts';
import { peerOf } from '../../../page/safety/peer-address.ts';
import { createGuard } from '../../../page/safety/request-guard.ts';
import type { Sandbox } from '../../../sandbox/index.ts';
import { Refusal } from '../../../sandbox/errors.ts';
import { CommandError, EXIT } from '../../shared/exit.ts';
import { actSchema, perform } from './acts.ts';

/** Answers what is sent to `CONTROL_PATH`. */
export type Control = (request: Request, env: unknown) => Promise<Response>;

/** Of an act: an address and a secret. */
const MOST_BYTES = 100_000;

/**
 * Steers a sandbox for whoever has the token, from this machine alone: not under another name, not through a proxy, and not for
 * a page of another site. A browser does not have the token at all.
 */
export function controlPath(sandbox: Sandbox, token: string): Control {
  const guard = createGuard({}, true);
  return async (request, env) => {
    if (guard(request, peerOf(env, request)) !== null) return answer(403, 'A sandbox is steered from its own machine.');
    if (!isSame(request.headers.get('authorization'), `Bearer ${token}`)) {
      return answer(401, 'Another sandbox is running there than the one that this user has started last.');
    }
    if (request.method !== 'POST') return answer(405, 'A sandbox is steered by POST.');
    const length = request.headers.get('content-length');
    if (length === null || Number(length) > MOST_BYTES) return answer(413, `Send ${MOST_BYTES} bytes at most.`);
    const act = actSchema.safeParse(await request.json().catch(() => null));
    if (!act.success)
      return answer(422, 'The sandbox does not know how to do that: it is of another version of hookbox.');
    try {
      return Response.json({ result: await perform(sandbox, act.data) });
    } catch (failure) {
      return answer(statusOf(failure), messageOf(failure));
    }
  };
}

function answer(status: number, message: string): Response {
  return Response.json({ message }, { status });
}

function statusOf(failure: unknown): number {
  if (failure instanceof ConfigurationError) return 422;
  if (failure instanceof Refusal) return failure.status;
  if (!(failure instanceof CommandError)) return 500;
  if (failure.exitCode === EXIT.usage) return 422;
  return failure.exitCode === EXIT.notFound ? 404 : 409;
}

/** Hashes of one length, so that the time says nothing about how near a guess was. */
function isSame(given: string | null, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return given !== null && timingSafeEqual(digest(given), digest(expected));
}
