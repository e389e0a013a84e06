import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isError, messageOf } from '../../errors.ts';
import { connectionWords } from '../../sender/deliver.ts';

const PATIENCE_MS = 5_000;

export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

export function whyUnreachable({ protocol, hostname, port }: URL): Promise<string | null> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const isTls = protocol === 'https:';
    const options = { host, port: port === '' ? (isTls ? 443 : 80) : Number(port) };
    const socket: Socket = isTls
      ? connectTls({ ...options, ...(isIP(host) === 0 && { servername: host }) })
      : connectTcp(options);
    const settle = (why: string | null): void => {
      resolve(why);
      socket.destroy();
    };
    socket.setTimeout(PATIENCE_MS, () => settle('it does not accept connections'));
    socket.once(isTls ? 'secureConnect' : 'connect', () => settle(null));
    socket.on('error', (failure) => settle(connectionFailure(failure)));
  });
}

/** Several addresses of a name give one AggregateError. */
export function connectionFailure(failure: unknown): string {
  const first: unknown = failure instanceof AggregateError ? failure.errors[0] : failure;
  if (!isError(first)) return messageOf(first);
  const { code } = first as NodeJS.ErrnoException;
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'the connection was reset without an answer';
  return connectionWords(first) ?? messageOf(first);
}
