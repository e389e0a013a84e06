import { isLoopbackAddress, peerOf } from '../page/safety/request-guard.ts';
import type { Assumptions } from './assumptions.ts';

/** Names that lead to this machine without asking anybody, and the one that calls without a port go by. */
const LOCAL_NAME = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|sandbox)$/;

/** What is said where it is not. */
export const ONLY_HTTPS = 'HTTPS is required. Plain HTTP is accepted only from this machine.';

/**
 * Only HTTPS is accepted (interface 5.4), except where nothing leaves the machine, or where plain HTTP is assumed to do (A12).
 *
 * @param env - what the server has handed along with the request, which tells where the connection comes from
 */
export function isAccepted(
  request: Request,
  env: unknown,
  { plainHttpAnywhere }: Pick<Assumptions, 'plainHttpAnywhere'>,
): boolean {
  const { protocol, hostname } = new URL(request.url);
  if (plainHttpAnywhere || protocol === 'https:') return true;
  const peer = peerOf(env, request);
  return LOCAL_NAME.test(hostname) && (peer === null || isLoopbackAddress(peer));
}
