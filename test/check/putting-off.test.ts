// @module-tag long
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/node.ts';
import { probeNames } from '../../src/cli/check/probe-names.ts';
import { createReceiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { check, findingOf, probesWith, SECRET } from './checking.ts';
import { handWritten } from './hand-written.ts';
import { scriptedEndpoint } from './scripted-endpoint.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

const A_SECOND_MS = 1_000;

/** Lets so many deliveries a second through to another endpoint, and tells the others to come later. */
function limited(endpoint: Listener, perSecond: number, later: () => ReturnType<typeof answerOf>): Listener {
  let times: readonly number[] = [];
  return (request, response) => {
    if (request.url !== '/webhooks') return endpoint(request, response);
    const now = performance.now();
    times = times.filter((time) => time > now - A_SECOND_MS);
    if (times.length < perSecond) {
      times = [...times, now];
      return endpoint(request, response);
    }
    const { status, headers } = later();
    request.resume();
    return response.writeHead(status, headers).end();
  };
}

function answerOf(status: number, retryAfter?: string) {
  return { status, headers: { ...(retryAfter !== undefined && { 'Retry-After': retryAfter }) } };
}

describe('an endpoint that puts deliveries off', () => {
  it.each([
    ['429', answerOf(429)],
    ['503 with Retry-After', answerOf(503, '1')],
  ])('and is right otherwise is not accused: above 20 a second it says %s', async (_, later) => {
    const report = await check(limited(handWritten(SECRET), 20, () => later));

    expect(probesWith(report, 'fault')).toEqual([]);
    expect(probesWith(report, 'unknown')).toEqual([]);
    expect(probesWith(report, 'warning')).toEqual(['burst']);
    expect(report.probes.some(({ note }) => note?.includes('as the endpoint asked'))).toBe(true);
  });

  it('may name the time as a date', async () => {
    const inASecond = () => answerOf(429, new Date(Date.now() + A_SECOND_MS).toUTCString());
    const report = await check(limited(handWritten(SECRET), 10, inASecond), { only: ['every-type'] });

    expect(report.probes[1]).toMatchObject({ name: 'every-type', verdict: 'pass' });
    expect(report.probes[1]?.note).toContain('as the endpoint asked');
  });

  it('is found to process duplicates all the same', async () => {
    const report = await check(limited(handWritten(SECRET, 'processesDuplicates'), 20, () => answerOf(429, '1')));

    expect(probesWith(report, 'fault')).toEqual(['duplicates', 'duplicates-at-once']);
  });

  it('and is hookbox gets its marks by its own answers', async () => {
    await using inbox = memoryInbox({ ephemeral: true });
    await using receiver = createReceiver({ secret: SECRET, inbox, logger: recordedLog().logger });
    const report = await check(
      limited(webhookHandler(receiver), 20, () => answerOf(429, '1')),
      { effects: null },
    );

    expect(probesWith(report, 'fault')).toEqual([]);
    expect(probesWith(report, 'unknown')).toEqual([]);
    expect(probesWith(report, 'warning')).toEqual(['burst']);
  });

  it('is warned once, also where the limit leaves room for the burst', async () => {
    let deliveries = 0;
    const report = await check(
      scriptedEndpoint(({ right }) => {
        deliveries += 1;
        return deliveries === 2 ? { status: 429 } : right;
      }),
      { only: ['unknown-type', 'burst'] },
    );

    expect(probesWith(report, 'warning')).toEqual(['burst']);
    expect(findingOf(report, 'burst').sent).toBe('1 delivery earlier in this run');
    expect(report.probes[1]).toMatchObject({ verdict: 'pass', note: 'waited 500 ms in all, as the endpoint asked' });
  });

  it.each([
    ['429', { status: 429, headers: { 'Retry-After': '3600' } }],
    ['503', { status: 503, headers: { 'Retry-After': '3600' } }],
  ])('with %s for good is neither accused nor absolved', async (_, later) => {
    let deliveries = 0;
    const began = performance.now();
    const report = await check(
      scriptedEndpoint(({ right }) => {
        deliveries += 1;
        return deliveries === 1 ? right : later;
      }),
    );

    expect(performance.now() - began).toBeLessThan(10_000);
    expect(probesWith(report, 'fault')).toEqual([]);
    expect(probesWith(report, 'warning')).toEqual(['burst']);
    expect(probesWith(report, 'pass')).toEqual(['valid', 'in-time']);
    expect(probesWith(report, 'unknown')).toEqual(
      probeNames.filter((name) => !['valid', 'burst', 'in-time'].includes(name)),
    );
    expect(findingOf(report, 'malformed-json').mend).toContain('rate limit');
  });

  it('without saying that it is for a while is a fault', async () => {
    const report = await check(
      scriptedEndpoint(() => 503),
      { only: ['valid'] },
    );

    expect(probesWith(report, 'fault')).toEqual(['valid']);
  });
});
