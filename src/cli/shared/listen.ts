import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../host/real-timers.ts';
import { messageOf } from '../../errors.ts';
import { isLoopbackAddress } from '../../host/loopback.ts';
import { CommandError } from './output.ts';

export interface ListenOptions {
  readonly port: number;
  readonly portOption: string;
  /** default: every address of this machine */
  readonly host?: string;
}

const GRACE_MS = 1_000;

/** Resolves with `host:port`. */
export async function listen(server: Server, { port, portOption, host }: ListenOptions): Promise<string> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (failure) {
    throw new CommandError(whyNot(failure as NodeJS.ErrnoException, port, portOption));
  }
  const { address, family, port: actual } = addressOf(server);
  if (host === undefined || address === '::' || address === '0.0.0.0') return `localhost:${actual}`;
  return family === 'IPv6' ? `[${address}]:${actual}` : `${address}:${actual}`;
}

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host);
}

export function addressOf(server: Server): AddressInfo {
  return server.address() as AddressInfo;
}

function whyNot(failure: NodeJS.ErrnoException, port: number, option: string): string {
  if (failure.code === 'EADDRINUSE') return `Port ${port} is in use. Choose a different ${option}.`;
  if (failure.code === 'EACCES') return `Port ${port} requires more rights. Choose a ${option} above 1023.`;
  return `hookbox cannot listen: ${messageOf(failure)}.`;
}

/** Waits for `finish` and for responses that are being sent; closes idle connections. */
export async function stopListening(server: Server, finish: () => Promise<unknown> = async () => {}): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  await finish();
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const late = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(late);
}
