import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { expect } from 'vitest';
import { expectConsole } from './console.ts';
import { signBody } from '../../src/index.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { SECRET } from './secret.ts';
import type { RunningServer } from './server.ts';

/** Long before any deadline. */
const AT_ONCE_MS = 4_000;

export interface SignedOrder {
  readonly id: string;
  readonly body: Buffer<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly tookMs: number;
}

/** Exposes a host that rewrites the body or reads it as latin1. */
export function signedOrder(padding = 0, type = 'order.confirmed'): SignedOrder {
  const id = `evt_${randomUUID()}`;
  const note = `"special_instructions":"Käse, bitte 🧀"${padding > 0 ? `,"padding":"${'x'.repeat(padding)}"` : ''}`;
  const body = Buffer.from(
    `{"id":"${id}","type":"${type}","created":"2026-01-01T12:00:00Z",` +
      `"data":{"object":"order","id":"ord_1","total":42.50,${note}}}`,
  );
  return { id, body, headers: { 'Content-Type': 'application/json', 'X-Signature': signBody(body, SECRET) } };
}

export function forged(order: SignedOrder): SignedOrder {
  return { ...order, headers: { ...order.headers, 'X-Signature': signBody(order.body, 'another secret') } };
}

export async function send(url: string, { body, headers }: SignedOrder): Promise<Answer> {
  const start = performance.now();
  const answer = await fetch(url, { method: 'POST', body, headers, signal: AbortSignal.timeout(15_000) });
  const text = await answer.text();
  return { status: answer.status, text, tookMs: performance.now() - start };
}

export async function expectStores(server: Pick<RunningServer, 'url' | 'database'>): Promise<void> {
  const { url, database } = server;
  const before = existsSync(database) ? (await storedIn(database)).length : 0;
  const order = signedOrder();
  const large = signedOrder(300_000);
  expect(await send(url, order)).toMatchObject(accepted(order.id, false));
  expect(await send(url, order)).toMatchObject(accepted(order.id, true));
  expect(await send(url, large)).toMatchObject(accepted(large.id, false));
  await expectForgeryRefused(url);
  const get = await fetch(url);
  await get.text();
  expect(get.status).toBe(405);

  const stored = (await storedIn(database)).slice(before);
  expect(stored).toEqual([
    { id: order.id, verified: true, body: order.body, redeliveries: 1 },
    { id: large.id, verified: true, body: large.body, redeliveries: 0 },
  ]);
}

async function storedIn(database: string): Promise<readonly object[]> {
  await using inbox = sqliteInbox(database);
  return (await inbox.list()).map(({ id, verified, body, redeliveries }) => {
    return { id, verified, body: body && Buffer.from(body), redeliveries: redeliveries.count };
  });
}

function accepted(id: string, duplicate: boolean): Partial<Answer> {
  return { status: 200, text: JSON.stringify({ received: true, duplicate, id }) };
}

export async function expectForgeryRefused(url: string): Promise<void> {
  for (const order of [forged(signedOrder()), { ...signedOrder(), headers: { 'Content-Type': 'application/json' } }]) {
    const answer = await send(url, order);
    expect(answer).toMatchObject({ status: 401, text: expect.stringContaining('"code":"INVALID_SIGNATURE"') });
    expect(answer.tookMs).toBeLessThan(AT_ONCE_MS);
  }
}

export async function expectConsumed(server: RunningServer, fix: string): Promise<void> {
  for (const order of [signedOrder(), forged(signedOrder())]) {
    const answer = await send(server.url, order);
    expect(answer).toMatchObject({ status: 500, text: expect.stringContaining('"code":"BODY_CONSUMED"') });
    expect(answer.tookMs).toBeLessThan(AT_ONCE_MS);
  }
  await expectConsole(server).toContain('reason=body-consumed');
  await expectConsole(server).toContain(fix);
}
