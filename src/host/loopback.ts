import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { isIPv4, type LookupFunction } from 'node:net';

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

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (failure: Error | null, addresses: LookupAddress[]) => void,
) => void;

/** A resolver may return any address for `localhost`. This one fails if the address is that of another machine. */
export function loopbackLookup(resolve: Resolve = lookup): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (failure, addresses) => {
      const isOther = addresses?.some(({ address }) => !isLoopbackAddress(address));
      const refused = failure ?? (isOther ? new Error(`${hostname} resolves to another machine`) : null);
      const [first] = refused === null ? addresses : [];
      if (options.all === true) done(refused, refused === null ? addresses : []);
      else done(refused, first?.address ?? '', first?.family);
    });
  };
}
