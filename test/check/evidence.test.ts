// @module-tag long
import type { RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { probeNames } from '../../src/cli/check/probe-names.ts';
import { check, findingOf, probesWith } from './checking.ts';
import { scriptedEndpoint } from './scripted-endpoint.ts';

const NEED_EVIDENCE = ['stored-first', 'duplicates', 'duplicates-at-once'];

describe('what cannot be seen from outside', () => {
  it.each([
    ['without evidence', null, undefined, 'which does not show whether the event was stored', '--effects'],
    ['where the effects are not there', '/nowhere/{id}', undefined, 'it returned 404', '200 with a number'],
    [
      'where there are no effects',
      '/effects/other-{id}',
      undefined,
      'no effect within 0.3 s',
      'for the id of the event',
    ],
    [
      'where answers are about something else',
      null,
      { status: 200, body: '{"received":true,"duplicate":true,"id":"evt_1"}' },
      'which does not show whether the event was stored',
      '--effects',
    ],
  ])('is unknown %s, and neither a pass nor a fault', async (_, effects, answer, received, mend) => {
    const report = await check(
      scriptedEndpoint(({ right }) => (right === 200 ? (answer ?? right) : right)),
      { effects },
    );

    expect(probesWith(report, 'unknown')).toEqual(NEED_EVIDENCE);
    expect(report).toMatchObject({ full: false, marks: { judged: probeNames.length - NEED_EVIDENCE.length } });
    for (const name of ['stored-first', 'duplicates', 'duplicates-at-once'] as const) {
      expect(findingOf(report, name).received).toContain(received);
      expect(findingOf(report, name).mend).toContain(mend);
    }
  });

  it('is seen in the answers of hookbox, if they say that each copy is new', async () => {
    const report = await check(
      scriptedEndpoint(({ right, id }) =>
        right === 200 ? { status: 200, body: JSON.stringify({ received: true, duplicate: false, id }) } : right,
      ),
      { effects: null },
    );

    expect(probesWith(report, 'fault')).toEqual(NEED_EVIDENCE);
  });

  it('is judged by the effects rather than by what the answers claim', async () => {
    const effects = new Map<string, number>();
    const wrong = scriptedEndpoint(({ right, id }) => {
      if (right !== 200 || id === null) return right;
      const duplicate = effects.has(id);
      effects.set(id, (effects.get(id) ?? 0) + 1);
      return { status: 200, body: JSON.stringify({ received: true, duplicate, id }) };
    });

    const report = await check(
      (request, response) => {
        const id = (request.url ?? '').replace('/counted/', '');
        if (effects.has(id)) response.end(JSON.stringify({ count: effects.get(id) }));
        else wrong(request, response);
      },
      { effects: '/counted/{id}', only: ['duplicates', 'duplicates-at-once'] },
    );

    expect(probesWith(report, 'fault')).toEqual(['duplicates', 'duplicates-at-once']);
    expect(findingOf(report, 'duplicates').received).toBe('2xx, and 4 effects');
    expect(findingOf(report, 'duplicates-at-once').received).toBe('2xx, and 17 effects');
  });
});

describe('what was stored first', () => {
  /** A right endpoint that works on an event some time after it was stored and answered. */
  function worksLater(told: (rows: number, count: number) => unknown): RequestListener {
    const rows = new Set<string>();
    const worked = new Set<string>();
    const endpoint = scriptedEndpoint(({ right, id }) => {
      if (right === 200 && id !== null && !rows.has(id)) {
        rows.add(id);
        setTimeout(() => worked.add(id), 50);
      }
      return right;
    });
    return (request, response) => {
      const [, id] = /^\/effects\/(.+)$/.exec(request.url ?? '') ?? [];
      if (id === undefined) return endpoint(request, response);
      return response.end(JSON.stringify(told(rows.has(id) ? 1 : 0, worked.has(id) ? 1 : 0)));
    };
  }

  it.each([
    ['a number', (_: number, count: number) => count],
    ['a count', (_: number, count: number) => ({ count })],
  ])('is unknown where the effects are counted by %s and follow the answer', async (_, told) => {
    const report = await check(worksLater(told));

    expect(probesWith(report, 'fault')).toEqual([]);
    expect(probesWith(report, 'unknown')).toEqual(['stored-first']);
    expect(findingOf(report, 'stored-first').received).toMatch(
      /^200; no effect right after the answer, but 1 within \d+ ms, which may be a row or a handler run$/,
    );
    expect(findingOf(report, 'stored-first').mend).toContain('{"rows": n, "count": n}');
  });

  it('is told from the work by the rows in the inbox', async () => {
    const report = await check(worksLater((rows, count) => ({ rows, count })));

    expect(report).toMatchObject({ full: true });
  });

  it('is judged by the rows alone, where only those are told', async () => {
    const report = await check(worksLater((rows) => ({ rows })));

    expect(probesWith(report, 'pass')).toEqual(probeNames);
    expect(report.probes.find(({ name }) => name === 'duplicates')?.note).toBe(
      'judged by the rows that the --effects URL reported; the number of handler runs is unknown',
    );
  });

  it('is what the answers of hookbox say of the inbox, and not of the disk', async () => {
    const known = new Set<string>();
    const report = await check(
      scriptedEndpoint(({ right, id }) => {
        if (right !== 200 || id === null) return right;
        const duplicate = known.has(id);
        known.add(id);
        return { status: 200, body: JSON.stringify({ received: true, duplicate, id }) };
      }),
      { effects: null, only: ['stored-first'] },
    );

    expect(report.probes.at(-1)).toMatchObject({
      verdict: 'pass',
      note: 'judged by the responses of the endpoint: it recognised the event, but its responses do not show whether the event was on disk',
    });
  });
});

describe('duplicates', () => {
  function answering(again: number): Parameters<typeof scriptedEndpoint>[0] {
    const known = new Set<string>();
    return ({ right, id }) => {
      if (right !== 200 || id === null) return right;
      if (known.has(id)) return again;
      known.add(id);
      return 200;
    };
  }

  it('that are refused are a fault', async () => {
    const report = await check(scriptedEndpoint(answering(409)));

    expect(probesWith(report, 'fault')).toEqual(['duplicates', 'duplicates-at-once']);
    expect(findingOf(report, 'duplicates').mend).toContain('whose id you already know');
  });

  it.each([
    [409, 'pass'],
    [503, 'pass'],
    [500, 'warning'],
  ])('that are refused with %i while the first is under way: %s', async (status, verdict) => {
    const underWay = new Set<string>();
    const report = await check(
      scriptedEndpoint(async ({ right, id }) => {
        if (right !== 200 || id === null) return right;
        if (underWay.has(id)) return status;
        underWay.add(id);
        await delay(100);
        underWay.delete(id);
        return 200;
      }),
      { only: ['duplicates-at-once'] },
    );

    expect(report.probes.at(-1)).toMatchObject({ name: 'duplicates-at-once', verdict });
  });
});
