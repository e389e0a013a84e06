import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST = 20_000;
const COUNT = 10_000;

/**
 * A port that nobody listens on, for a server that has to be told one. Below those that the system hands out: one of these
 * would be given to the next server that asks for any, before this one has begun to listen.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const probe = createServer().listen(port);
    const isFree = await Promise.race([
      once(probe, 'listening').then(() => true),
      new Promise<boolean>((resolve) => probe.once('error', () => resolve(false))),
    ]).catch(() => false);
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
