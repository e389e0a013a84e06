import { isLoopbackAddress } from '../page/safety/peer-address.ts';

/** Names that lead to this machine without asking anybody, and the one that calls without a port go by. */
const LOCAL_NAME = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|sandbox)$/;

/** What is said where it is not. */
export const ONLY_HTTPS = 'Only HTTPS is accepted: plain HTTP is for this machine alone.';

/**
 * Only HTTPS is accepted (interface 5.4), except where nothing leaves the machine (A12).
 *
 * @param peer - the address that the connection comes from; `null` without a connection
 */
export function isSecureTransport(url: URL, peer: string | null): boolean {
  return url.protocol === 'https:' || (LOCAL_NAME.test(url.hostname) && (peer === null || isLoopbackAddress(peer)));
}
