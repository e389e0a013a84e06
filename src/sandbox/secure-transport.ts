import { isLoopbackAddress } from '../page/safety/peer-address.ts';
import { Refusal } from './errors.ts';

/** Names that lead to this machine without asking anybody, and the one that calls without a port go by. */
const LOCAL_NAME = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|sandbox)$/;

/**
 * Only HTTPS is accepted (interface 5.4), except where nothing leaves the machine (A12).
 *
 * @param peer - the address that the connection comes from; `null` without a connection
 * @throws Refusal `INSUFFICIENT_PERMISSIONS`
 */
export function requireSecureTransport(url: URL, peer: string | null): void {
  if (url.protocol === 'https:') return;
  if (LOCAL_NAME.test(url.hostname) && (peer === null || isLoopbackAddress(peer))) return;
  throw new Refusal('INSUFFICIENT_PERMISSIONS', 'Only HTTPS is accepted: plain HTTP is for this machine alone.', {});
}
