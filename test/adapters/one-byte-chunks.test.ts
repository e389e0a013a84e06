// @module-tag longest
/** Node holds hundreds of bytes for each chunk of one byte. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { warmUp, whileSampling } from './conformance/memory.ts';
import { expectAccepted } from './expected-answer.ts';
import { startMeasured } from './measured-server.ts';
import { signedEvent, WELL_FORMED } from '../helpers/signed-event.ts';
import { times } from '../helpers/times.ts';
import { send } from './wire.ts';

const MIB = 1024 * 1024;
const CONNECTIONS = 200;
const MANY_CHUNKS = 4_096;
/** The service waits 10 s; a slow machine needs more. */
const ATTACK_LIMIT_MS = 40_000;
const CASE_LIMIT_MS = 90_000;

const report = z.object({
  connections: z.number(),
  open: z.number(),
  written: z.number(),
  statuses: z.array(z.number()),
});

async function heard(attackers: ChildProcess): Promise<z.infer<typeof report>> {
  const answered = once(attackers, 'message');
  attackers.send('report');
  const [said]: unknown[] = await answered;
  return report.parse(said);
}

async function deliverMeanwhile(url: string, attackers: ChildProcess): Promise<number> {
  const began = performance.now();
  let delivered = 0;
  while (performance.now() - began < ATTACK_LIMIT_MS) {
    const event = signedEvent();
    expectAccepted(await send(url, event), event);
    delivered += 1;
    const { connections, open } = await heard(attackers);
    if (connections === CONNECTIONS && open === 0) break;
    await delay(50);
  }
  return delivered;
}

// Each takes a quarter of a minute, and all use the same reader.
describe.each(['node', 'fastify', 'fetch'].slice(0, times(3, 1)))('hookbox/%s, in its own process', (name) => {
  it.each([
    ['a signature in the right form', WELL_FORMED[1], [400, 503], CONNECTIONS],
    ['no signature', '', [401], 0], // the receiver does not read its body
  ])(
    'grows by at most 128 MiB under 200 connections that send 1 MB in chunks of one byte with %s, and answers the others',
    { timeout: CASE_LIMIT_MS },
    async (_, signature, expected, least) => {
      await using measured = await startMeasured(new URL(`./servers/${name}.ts`, import.meta.url));
      await warmUp(measured.url);
      const before = await measured.rss();
      const client = fileURLToPath(new URL('./servers/one-byte-chunks.ts', import.meta.url));
      const attackers = fork(client, [measured.url, String(CONNECTIONS), signature], { execArgv: [] });
      try {
        const [peak, delivered] = await whileSampling(measured, () => deliverMeanwhile(measured.url, attackers));
        const { connections, written, statuses } = await heard(attackers);
        const { chunksOfOneByte, largerChunks } = await measured.sample();

        expect(peak - before).toBeLessThan(128 * MIB);
        expect(delivered).toBeGreaterThan(1);
        expect(connections).toBe(CONNECTIONS);
        expect(written).toBeGreaterThan(CONNECTIONS);
        const inCrumbs = statuses.filter((status) => status === 400).length;
        expect(chunksOfOneByte).toBeGreaterThanOrEqual(Math.max(least, inCrumbs * (MANY_CHUNKS + 1)));
        expect(largerChunks).toBe(0);
        // A connection may be cut before the client reads the answer.
        expect(statuses.length).toBeGreaterThan(0);
        expect(statuses.filter((status) => !expected.includes(status))).toEqual([]);
      } finally {
        attackers.kill();
        await once(attackers, 'exit');
      }
    },
  );
});
