// @module-tag long
// @module-tag repeated
// @module-tag dear
import Database from 'better-sqlite3';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { OFTEN_COPIED, withRewrites } from '../helpers/often-copied.ts';
import { times } from '../helpers/times.ts';
import { orderBody } from '../helpers/order-delivery.ts';
import { bundledScript } from '../helpers/bundled-script.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const PLACEMENTS = [
  ['thread', times(20, 4)],
  ['loop', times(6, 2)],
  ['thread, beside another', times(20, 4)],
] as const;
type Placement = (typeof PLACEMENTS)[number][0];

interface Round {
  readonly killedAfterMs: number;
  readonly stored: readonly string[];
  readonly duplicates: readonly string[];
}

async function survivesKills(placement: Placement, rounds: number): Promise<void> {
  const file = scratchFile();
  const delivering = await deliveringWith(placement);
  const stored = new Set<string>();
  let duplicates = 0;

  // Otherwise the test proves nothing: it needs many acknowledgements of both kinds.
  const isProven = (): boolean => stored.size > rounds * 50 && duplicates > rounds * 5;
  for (let round = 1; round <= rounds || !isProven(); round += 1) {
    const killed = await killUnderLoad([...delivering, file, String(round), placement.split(',')[0] ?? ''], round);
    const about = `round ${round}, killed after ${killed.killedAfterMs} ms`;
    for (const id of killed.stored) {
      expect(stored.has(id), `${about}: ${id} is stored twice`).toBe(false);
      stored.add(id);
    }
    duplicates += killed.duplicates.length;
    expect(killed.stored.length, `${about}: no load`).toBeGreaterThan(0);

    const database = new Database(file);
    expect(database.pragma('quick_check', { simple: true }), about).toBe('ok');
    const rows = database
      .prepare<[], { id: string; body: Buffer }>('SELECT id, body FROM hookbox_events NOT INDEXED')
      .all();
    database.close();
    const bodies = new Map(rows.map(({ id, body }) => [id, body.toString()]));
    expect(bodies.size, `${about}: an id is there twice`).toBe(rows.length);
    const acknowledged = [...stored, ...killed.duplicates];
    expect(
      acknowledged.filter((id) => bodies.get(id) !== orderBody(id)),
      `${about}: acknowledged and lost`,
    ).toEqual([]);
  }

  await using inbox = sqliteInbox(file);
  const [first] = await inbox.list({ limit: 1 });
  expect(first).toMatchObject({ id: 'evt_1_1', verified: true, state: 'pending' });
}

it.each(PLACEMENTS)(
  'what was answered 200 by its %s survives kill -9, %d times on one file at random moments under load',
  survivesKills,
  180_000,
);

async function deliveringWith(placement: Placement): Promise<readonly string[]> {
  const script = new URL('delivering-process.ts', import.meta.url);
  if (placement !== 'thread, beside another') return [process.execPath, await bundledScript(script)];
  return [...withRewrites(OFTEN_COPIED), process.execPath, fileURLToPath(script)];
}

async function killUnderLoad([command = '', ...args]: readonly string[], round: number): Promise<Round> {
  const killedAfterMs = 50 + Math.floor(Math.random() * 350);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), killedAfterMs);
    output += chunk;
  });
  const [code, signal] = await ended;
  expect([code, signal], `round ${round} ended by itself`).toEqual([null, 'SIGKILL']);

  const lines = output.split('\n').slice(0, -1);
  const idsOf = (kind: string) => lines.filter((line) => line.startsWith(kind)).map((line) => line.slice(kind.length));
  return { killedAfterMs, stored: idsOf('stored '), duplicates: idsOf('duplicate ') };
}
