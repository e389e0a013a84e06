/** What an adapter of a Node server makes of a body that other code has read, kept or touched before. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Inbox } from '../../src/index.ts';
import type { LogLine } from '../helpers/recorded-log.ts';
import { signedEvent, signedEventOfSize, WELL_FORMED } from '../helpers/signed-event.ts';
import { expectAccepted, expectRefused, BODY_CONSUMED, INVALID_SIGNATURE } from './expected-answer.ts';
import { chunk, connect, LAST_CHUNK, requestHead, type Answer, type RequestParts } from './wire.ts';

/** Well before `DEADLINE_MS`: no case may wait for a body that is gone. */
export const AT_ONCE_MS = 1_000;
export const DEADLINE_MS = 2_000;
export const JSON_TYPE = ['Content-Type', 'application/json'] as const;

export interface ServedAfter extends AsyncDisposable {
  readonly url: string;
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
  readonly failed?: readonly unknown[];
}

export type OtherCode<Before> = readonly (readonly [what: string, before: Before])[];

interface Cases<Before> {
  readonly harmless: OtherCode<Before>;
  /** Leaves nothing that could be verified. */
  readonly consuming: OtherCode<Before>;
  readonly fix: RegExp;
}

/** Servers read small and large bodies in different ways. */
interface Kind {
  readonly what?: 'handler' | 'verifier';
  readonly framing?: 'content-length' | 'chunked';
  readonly bytes?: number;
}

export function testAfterOthers<Before>(
  serve: (before: Before) => Promise<ServedAfter>,
  { harmless, consuming, fix }: Cases<Before>,
  { what = 'handler', framing = 'content-length', bytes = 500 }: Kind,
): void {
  it.each(harmless)('takes the delivery, and refuses a forged one, after code that %s', async (_, before) => {
    await using served = await serve(before);
    const [event, other] = [signedEventOfSize(bytes), signedEventOfSize(bytes)];

    const [answer, forged] = await Promise.all([
      sendInPieces(served.url, { ...event, framing }),
      sendInPieces(served.url, { ...other, headers: event.headers, framing }),
    ]);

    expectAccepted(answer, event);
    expectRefused(forged, INVALID_SIGNATURE);
    const stored = (await served.inbox.list()).map(({ body }) => Buffer.from(body ?? []).equals(event.body));
    expect(stored).toEqual(what === 'handler' ? [true] : []);
    expect(served.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(served.failed ?? []).toEqual([]);
  });

  it.each(consuming)('answers 500 at once, and the log names the fix, after code that %s', async (_, before) => {
    await using served = await serve(before);
    const event = signedEventOfSize(bytes);
    const began = performance.now();

    const answers = await Promise.all(
      [event.headers, [WELL_FORMED], signedEvent().headers].map((headers) =>
        sendInPieces(served.url, { ...event, headers, framing }),
      ),
    );
    const unsigned = await sendInPieces(served.url, { body: event.body, framing });

    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
    for (const answer of answers) expectRefused(answer, BODY_CONSUMED);
    expect([401, 500]).toContain(unsigned.status);
    const message = expect.stringMatching(fix) as unknown;
    expect(served.log[0]).toMatchObject({ level: 'error', facts: { reason: 'body-consumed', status: 500 }, message });
    expect(await served.inbox.list()).toEqual([]);
  });
}

/** In two pieces, so that a last one exists. */
export async function sendInPieces(
  url: string,
  { headers = [], body = new Uint8Array(), framing }: RequestParts,
): Promise<Answer> {
  await using connection = await connect(url);
  await connection.write(requestHead(url, { headers: [...headers, JSON_TYPE], body, ...(framing && { framing }) }));
  for (const piece of [body.subarray(0, 100), body.subarray(100)]) {
    await connection.write(framing === 'chunked' ? chunk(piece) : piece);
    await delay(10);
  }
  if (framing === 'chunked') await connection.write(LAST_CHUNK);
  return await connection.answer();
}
