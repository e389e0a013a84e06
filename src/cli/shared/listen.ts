import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../host/real-timers.ts';
import { messageOf } from '../../errors.ts';
import { isLoopbackAddress } from '../../page/safety/request-guard.ts';
import { CommandError } from './output.ts';

export interface ListenOptions {
  readonly port: number;
  /** what the user sets to choose another port */
  readonly portOption: string;
  /** every address of this machine unless set */
  readonly host?: string;
}

/** How long clients may keep a connection that has nothing under way any more. */
const GRACE_MS = 1_000;

/** Resolves with where the server can be reached, as `host:port`. */
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
  return server.address() as AddressInfo; // it listens on a port
}

function whyNot(failure: NodeJS.ErrnoException, port: number, option: string): string {
  if (failure.code === 'EADDRINUSE') return `Port ${port} is in use. Choose a different ${option}.`;
  if (failure.code === 'EACCES') return `Port ${port} requires more rights. Choose a ${option} above 1023.`;
  return `hookbox cannot listen: ${messageOf(failure)}.`;
}

/**
 * Takes no more connections, waits for `finish`, and resolves when the last connection has ended. Answers are flushed;
 * clients that merely keep a connection open are cut off.
 */
export async function stopListening(server: Server, finish: () => Promise<unknown> = async () => {}): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  await finish();
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const late = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(late);
}
