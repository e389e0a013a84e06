import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { deliveryStatistics } from '../../src/receive/delivery-statistics.ts';
import { errorOutcome } from '../../src/receive/outcome.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import type { Delivery } from '../../src/receive/delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const secret = 'a signing secret';
const encode = (text: string) => new TextEncoder().encode(text);
const eventBody = (id: string, type = 'order.ready') =>
  encode(JSON.stringify({ id, type, created: '2026-01-01T00:00:00Z', data: { id: 'ord_1' } }));

function receiving() {
  const file = scratchFile();
  const inbox = sqliteInbox(file);
  const receiver = createReceiver({ secret, inbox, logger: silent });
  onTestFinished(() => inbox.close());
  const send = (body: Uint8Array, more: Partial<Delivery> = {}) =>
    receiver.receive({ body, signature: signBody(body, secret), ...more });
  const read = (sql: string) => {
    const database = new Database(file, { readonly: true });
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  };
  return { receiver, inbox, file, send, read };
}

describe('what operators are told of answers', () => {
  it('counts what was stored, redelivered, sent with other bytes and refused, in the minute it happened', async () => {
    const { receiver, send, read } = receiving();
    await send(eventBody('evt_1'));
    await send(eventBody('evt_1'));
    await send(eventBody('evt_1', 'order.completed'));
    await send(eventBody('evt_2', 'somebody.elses'));
    await send(encode('{"id":"evt_3"}'));
    await send(eventBody('evt_4'), { signature: 'f'.repeat(64) });
    await receiver.close();
    expect(
      read(
        "SELECT what, detail, sum(count) AS n FROM hookbox_counts WHERE what != 'answer-ms' GROUP BY 1, 2 ORDER BY 1, 2",
      ),
    ).toEqual([
      { what: 'arrived', detail: 'default', n: 5 },
      { what: 'conflict', detail: '', n: 1 },
      { what: 'dead', detail: 'invalid', n: 1 },
      { what: 'duplicate', detail: '', n: 2 },
      { what: 'refused', detail: 'signature-mismatch default', n: 1 },
      { what: 'rejected', detail: 'signature-mismatch', n: 1 },
      { what: 'stored', detail: 'invalid', n: 1 },
      { what: 'stored', detail: 'order.ready', n: 1 },
      { what: 'stored', detail: 'other', n: 1 },
    ]);
    expect(read("SELECT sum(count) AS n FROM hookbox_counts WHERE what = 'answer-ms'")).toEqual([{ n: 6 }]);
  });

  it('counts the same when other rows of the group fail, and nothing of what was rolled back', async () => {
    const { receiver, inbox, send, read } = receiving();
    const key = { endpoint: 'default', id: 'evt_0' };
    await send(eventBody('evt_0'));
    const spoiled = inbox.accept(
      {
        ...key,
        id: 'evt_bad',
        type: null,
        created: null,
        entity: null,
        verified: true,
        valid: true, // a valid event without a type: a CHECK refuses the row
        body: eventBody('evt_bad'),
        receivedAt: Date.now(),
      },
      performance.now() + 9_000,
    );
    await Promise.all([expect(spoiled).rejects.toThrow(), send(eventBody('evt_1')), send(eventBody('evt_2'))]);
    await receiver.close();
    expect(read("SELECT sum(count) AS n FROM hookbox_counts WHERE what = 'stored'")).toEqual([{ n: 3 }]);
  });

  it('notes a rejection with cause, size, hash and source, alike ones as one, never its text, and no probe', async () => {
    const { receiver, send, read } = receiving();
    const forged = encode('{"id":"evt_1","note":"do not keep me"}');
    const hostile = { signature: '0'.repeat(64), source: () => '203.0.113.9' };
    await send(forged, hostile);
    await send(forged, hostile);
    await send(forged, { ...hostile, source: () => '203.0.113.10' });
    await send(forged, {
      ...hostile,
      source: () => {
        throw new Error('the socket is gone');
      },
    });
    await send(forged, { method: 'GET' });
    await receiver.close();
    const rows = read('SELECT reason, bytes, length(sha256) AS hash, source, count FROM hookbox_rejected ORDER BY seq');
    expect(rows).toEqual([
      { reason: 'signature-mismatch', bytes: 38, hash: 64, source: '203.0.113.9', count: 2 },
      { reason: 'signature-mismatch', bytes: 38, hash: 64, source: '203.0.113.10', count: 1 },
      { reason: 'signature-mismatch', bytes: 38, hash: 64, source: null, count: 1 },
    ]);
    expect(JSON.stringify(read('SELECT * FROM hookbox_rejected'))).not.toContain('do not keep me');
  });

  it('keeps the kinds of rejections of one second bounded, and the number exact', async () => {
    const { receiver, send, read } = receiving();
    const attacks = Array.from({ length: 3_000 }, (_, n) =>
      send(encode(`forged ${n}`), { signature: '0'.repeat(64), source: () => `2001:db8::${n}` }),
    );
    await Promise.all(attacks);
    await receiver.close();
    let kinds = 0;
    const noteRejected = async (rejections: readonly unknown[]) => void (kinds = rejections.length);
    const notes = deliveryStatistics({ count: async () => {}, noteRejected }, 'default');
    const outcome = errorOutcome('signature-mismatch');
    for (let n = 0; n < 3_000; n += 1) {
      notes.note({ body: encode(''), signature: null }, outcome, 1, encode(`forged ${n}`));
    }
    await notes.flush();
    expect(kinds).toBe(1_001);

    const [row] = read('SELECT count(*) AS kinds, max(count) AS most FROM hookbox_rejected') as {
      kinds: number;
      most: number;
    }[];
    expect(row?.kinds).toBeLessThanOrEqual(1_001);
    expect(row?.most).toBeGreaterThanOrEqual(1_000);
    expect(read("SELECT sum(count) AS n FROM hookbox_counts WHERE what = 'rejected'")).toEqual([{ n: 3_000 }]);
  });

  it('counts as arrived what is stored, though its handler fails before the answer', async () => {
    const { inbox, read } = receiving();
    const handlers = { 'order.ready': () => Promise.reject(new Error('the kitchen is closed')) };
    const processing = { mode: 'inline' } as const;
    const receiver = createReceiver({ secret, inbox, logger: silent, handlers, processing });
    const body = eventBody('evt_1');
    for (const _ of [1, 2])
      expect((await receiver.receive({ body, signature: signBody(body, secret) })).status).toBe(500);
    await receiver.close();
    const counted = read("SELECT what, count FROM hookbox_counts WHERE what IN ('arrived', 'refused', 'rejected')");
    expect(counted).toEqual([{ what: 'arrived', count: 2 }]);
    expect(read('SELECT * FROM hookbox_rejected')).toEqual([]);
  });

  it('keeps nobody from closing while the file is locked', async () => {
    const { receiver, inbox, file, send } = receiving();
    await send(eventBody('evt_1'));
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    await receiver.close();
    other.exec('COMMIT');
    other.close();
    expect(await inbox.get({ endpoint: 'default', id: 'evt_1' })).not.toBeNull();
  });
});
