import { isIPv4 } from 'node:net';

/** Names beneath `localhost` are not included: DNS may resolve them to any address. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

export function isLoopbackAddress(address: string): boolean {
  if (address === '::1') return true;
  const mapped = /^::ffff:(.+)$/i.exec(address)?.[1] ?? address;
  if (mapped !== address && /^7f[\da-f]{2}:[\da-f]{1,4}$/i.test(mapped)) return true;
  return isIPv4(mapped) && mapped.startsWith('127.');
}
