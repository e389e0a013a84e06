import { field, toldBy } from '../safety/peer-address.ts';

/** The server that a request came to, as far as the host tells of it. */
export interface HostServer {
  /** its connections can be asked to close after an answer */
  readonly isHttp1: boolean;
  /** it has stopped to listen since then; never, where the host does not say, as Deno */
  readonly hasClosed: () => boolean;
}

/** @param env - what the host has given along with the request */
export function hostServer(env: unknown): HostServer {
  const told = toldBy(env);
  const incoming = field(told, 'incoming');
  const server = field(field(incoming, 'socket'), 'server');
  // That of Node says so, and that of Bun has a port until then. Some are given their connections, and listen never.
  const listens = (): boolean => field(server, 'listening') === true || Number(field(told, 'port')) > 0;
  const hasListened = listens();
  return { isHttp1: field(incoming, 'httpVersionMajor') === 1, hasClosed: () => hasListened && !listens() };
}
