import type { Server } from 'node:http';

/** Listens on a free port of this machine and tells the parent process which. */
export function listen(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') reportPort(address.port);
  });
}

/** Tells the parent process the port, and ends this process with the parent. */
export function reportPort(port: number): void {
  process.send?.({ port });
  process.once('disconnect', () => process.exit());
}
