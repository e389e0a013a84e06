import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Connections can go silent, as behind a router that forgot them. */
export interface SilentDoor extends AsyncDisposable {
  readonly url: string;
  readonly opened: () => number;
  /** Open connections go silent; new ones work. */
  readonly silence: () => void;
  /** New connections lead to another server. */
  readonly leadTo: (url: string) => void;
}

export async function silentDoor(url: string): Promise<SilentDoor> {
  let { port, hostname } = new URL(url);
  const sockets: Socket[] = [];
  let silent = 0;
  let opened = 0;
  const server = createServer((client) => {
    const number = opened;
    opened += 1;
    const behind = connect(Number(port), hostname);
    sockets.push(client, behind);
    const passOn = (from: Socket, to: Socket): void => {
      from.on('data', (bytes) => number >= silent && to.write(bytes));
      from.on('error', () => {});
      from.on('close', () => number >= silent && to.destroy());
    };
    passOn(client, behind);
    passOn(behind, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const there = new URL(url);
  there.hostname = '127.0.0.1';
  there.port = String((server.address() as AddressInfo).port);
  return {
    url: there.href,
    opened: () => opened,
    silence() {
      silent = opened;
    },
    leadTo(other) {
      ({ port, hostname } = new URL(other));
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
