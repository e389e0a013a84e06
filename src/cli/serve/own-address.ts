import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopbackAddress } from '../../page/safety/request-guard.ts';

/** Whether a URL leads to the server that listens at an address of this machine. */
export function isOwnAddress(url: URL, { address, port }: AddressInfo): boolean {
  const portOfUrl = url.port === '' ? { 'http:': 80, 'https:': 443 }[url.protocol] : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return portOfUrl === port && namesOf(address).has(host);
}

function namesOf(address: string): ReadonlySet<string> {
  const everywhere = address === '::' || address === '0.0.0.0';
  const own = everywhere
    ? Object.values(networkInterfaces()).flatMap((each = []) => each.map((one) => one.address))
    : [address];
  const isLoopback = own.some(isLoopbackAddress);
  return new Set([...own, ...(isLoopback ? ['localhost'] : [])]);
}
