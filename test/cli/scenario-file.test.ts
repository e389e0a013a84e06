import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inWords } from '../../src/cli/scenario/scenario-report.ts';
import { verdictsOn } from '../../src/cli/scenario/scenario-verdicts.ts';
import { parseDuration } from '../../src/ops/words/read-time.ts';
import { loadScenario, shippedScenarios } from '../../src/cli/scenario/scenario-file.ts';
import { planOf, type Plan } from '../../src/cli/scenario/run-scenario.ts';
import type { EventFinding } from '../../src/cli/scenario/scenario-receivers.ts';
import { entityOf } from '../../src/events/entity.ts';
import { eventTypes } from '../../src/events/event-types.ts';
import { parseEvent } from '../../src/events/parse.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';

const folder = suiteFolder();

/** What a file gives, with the seed 1. */
async function planned(content: object | string, seed = 1): Promise<Plan> {
  const file = join(folder, 'scenario.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return planOf((await loadScenario(file)).scenario, seed);
}

const sound = { about: 'x', deliveries: [{ type: 'order.created' }] };
const delivery = (given: object): object => ({ about: 'x', deliveries: [given] });

describe('a scenario file', () => {
  it.each([
    ['no JSON', 'deliveries: []', 'is not JSON'],
    ['nothing in it', {}, 'about: Invalid input: expected string, received undefined; deliveries: '],
    ['an unknown field', { ...sound, wait: '5m' }, 'the file: Unrecognized key: "wait"'],
    ['no time', delivery({ type: 'order.created', at: 'soon' }), 'deliveries.0.at: expected a time such as "0"'],
    ['no type', delivery({ type: 'order.lost' }), 'deliveries.0.type: Invalid option: expected one of "order.created"'],
    ['no source', delivery({ at: '1m' }), 'deliveries.0: expected one of type, fixture, body, again, got none'],
    ['two sources', delivery({ type: 'order.created', body: 'x' }), 'got type and body'],
    ['an unknown name', delivery({ again: 'storm' }), 'deliveries.0.again: no earlier delivery has the name "storm"'],
    ['an unknown fixture', delivery({ fixture: 'none' }), 'deliveries.0.fixture: the fixture "none" does not exist'],
    [
      'an unknown fault',
      delivery({ type: 'order.created', faults: ['cat'] }),
      'deliveries.0.faults.0: expected null, one',
    ],
    [
      'windows that overlap',
      {
        ...sound,
        down: [
          { from: '0', for: '1h' },
          { from: '1h', for: '1h' },
        ],
      },
      'down: expected periods',
    ],
    ['too many faults', { ...sound, randomFaults: { count: 7 } }, 'randomFaults: 1 events can have at most'],
    ['no expectation', { ...sound, expect: { stored: 'twice' } }, 'expect.stored: expected "once" or a whole number'],
  ])('with %s is refused, with the place and what is expected there', async (_, content, message) => {
    const refused = planned(content);
    await expect(refused).rejects.toMatchObject({ name: 'CommandError', exitCode: 2 });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toThrow(/^[^\n]*$/);
  });

  it.each(shippedScenarios())('%s, which is shipped, gives valid events', async (name) => {
    const { events } = planOf((await loadScenario(name)).scenario, 7);
    for (const body of events.values()) expect(parseEvent(body)).toMatchObject({ ok: true, known: true, issues: [] });
  });
});

describe('the plan of a scenario', () => {
  it('is the same to the byte for the same seed, and has other ids for another', async () => {
    const scenario = { ...sound, randomFaults: { count: 5 } };
    const seen = ({ deliveries }: Plan): object[] =>
      deliveries.map(({ id, body, faults }) => ({ id, body, faults: [1, 2, 3].map((n) => faults(id ?? '', n)) }));
    expect(seen(await planned(scenario))).toEqual(seen(await planned(scenario)));
    expect(seen(await planned(scenario))).not.toEqual(seen(await planned(scenario, 2)));
  });

  it.each(eventTypes)('writes %s so that parsing it and writing it again gives other bytes', async (type) => {
    const { deliveries } = await planned(delivery({ type }));
    const text = Buffer.from(deliveries[0]?.body ?? []).toString();
    expect(text).not.toBe(JSON.stringify(JSON.parse(text)));
  });

  it('keeps the bytes of numbers as the fixtures have them', async () => {
    const { deliveries } = await planned(sound);
    expect(Buffer.from(deliveries[0]?.body ?? []).toString()).toContain('"price":6.50');
  });

  it('gives events of one subject one entity, and others one of their own', async () => {
    const { deliveries } = await planned({
      about: 'x',
      deliveries: [
        { type: 'order.created', count: 2, every: '1s' },
        { type: 'order.ready', count: 2, at: '1m' },
        { type: 'order.ready', subject: 'other' },
        { type: 'inventory.updated' },
        { type: 'cart.abandoned' },
      ],
    });
    const entities = deliveries.map(({ body }) => {
      const parsed = parseEvent(body);
      return parsed.ok ? entityOf(parsed.event) : null;
    });
    expect(entities.slice(0, 2)).toEqual(entities.slice(2, 4));
    expect(new Set(entities).size).toBe(5);
    expect(entities).not.toContain(null);
    expect(deliveries.map(({ at }) => at)).toEqual([0, 1_000, 60_000, 60_000, 0, 0, 0]);
  });

  it('takes data, creation times and bytes from the file', async () => {
    const { deliveries, events } = await planned({
      about: 'x',
      startAt: '2026-05-01T00:00:00Z',
      deliveries: [
        { name: 'first', type: 'order.created', at: '1h', created: '1m', data: { total: 1.5, currency: null } },
        { again: 'first', times: 2 },
        { again: 'first', forged: 'changed-body' },
        { type: 'order.ready', forged: 'unsigned' },
        { body: 'no event' },
        { fixture: 'edge/unknown-type' },
      ],
    });
    const [first] = deliveries;
    const event: unknown = JSON.parse(Buffer.from(first?.body ?? []).toString());
    expect(event).toMatchObject({ created: '2026-05-01T00:01:00.000Z', data: { total: 1.5, currency: null } });
    expect(deliveries.map(({ index }) => index)).toEqual([0, 1, 1, 2, 3, 4, 5]);
    expect(deliveries.slice(0, 4).every(({ body }) => body === first?.body)).toBe(true);
    expect([...events.keys()]).toEqual([first?.id, deliveries.at(-1)?.id]); // nothing forged, and nothing without an id
  });

  it('deals random faults only to the first delivery of what has none of its own', async () => {
    const { deliveries } = await planned({
      about: 'x',
      randomFaults: { count: 6 },
      deliveries: [
        { name: 'a', type: 'order.created', times: 2 },
        { again: 'a' },
        { type: 'order.ready', faults: [null, ['late', { kind: 'cut', where: 0.25 }]] },
        { type: 'order.ready', forged: 'unsigned' },
      ],
    });
    const counts = deliveries.map(({ id, faults }) => [1, 2, 3, 4, 5, 6].flatMap((n) => faults(id ?? '', n)).length);
    expect(counts).toEqual([6, 0, 0, 2, 0]);
    expect(deliveries[3]?.faults('', 2)).toEqual([
      { kind: 'late', ms: expect.any(Number) },
      { kind: 'cut', where: 0.25 },
    ]);
  });
});

describe('the verdict on an inbox', () => {
  const sent = Buffer.from('{"id":"evt_1"}');
  const right: EventFinding = {
    id: 'evt_1',
    body: sent,
    state: 'processed',
    redeliveries: 0,
    processed: 1,
    effects: 1,
    untakenType: null,
  };

  async function verdicts(events: readonly EventFinding[]): Promise<Readonly<Record<string, string>>> {
    const content = { ...delivery({ body: sent.toString() }), expect: { stored: 'once', handled: 'once' } };
    const plan = await planned(content);
    const { scenario } = await loadScenario(join(folder, 'scenario.json'));
    const findings = { events, superseded: null };
    const nothing = { deliveries: [], requests: [], deadLetters: 0, tookMs: 0, interrupted: false };
    return Object.fromEntries(
      verdictsOn(scenario, { ...nothing, plan, findings }).map(({ expectation, found }) => [expectation, found]),
    );
  }

  it.each<[string, readonly EventFinding[], string, string]>([
    ['all is well', [right], '', ''],
    ['it knows of no effects', [{ ...right, effects: null }], '', ''],
    ['an event is missing', [], 'evt_1 is missing', 'evt_1 is missing'],
    ['an event is there twice', [right, right], 'evt_1 is stored twice', ''],
    ['an event has other bytes', [{ ...right, body: Buffer.from('{}') }], 'evt_1 has a different body', ''],
    ['an event was never sent', [right, { ...right, id: 'evt_2' }], 'the service never sent evt_2', ''],
    ['an event is still waiting', [{ ...right, state: 'pending' }], '', 'evt_1 is pending'],
    [
      'an event has no handler',
      [{ ...right, state: 'pending', untakenType: 'order.ready' }],
      '',
      'evt_1 is pending, because no handler handles order.ready',
    ],
    ['an event was processed twice', [{ ...right, processed: 2 }], '', 'evt_1 was processed 2 times'],
    ['an effect is missing', [{ ...right, effects: 0 }], '', 'evt_1 had its effect 0 times'],
    ['an effect is there twice', [{ ...right, effects: 2 }], '', 'evt_1 had its effect 2 times'],
  ])('%s', async (_, events, stored, handled) => {
    expect(await verdicts(events)).toEqual({
      'every event is stored once': stored,
      'every event is handled once': handled,
    });
  });
});

describe('times', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['1.5m', 90_000],
    ['1h 30m', 5_400_000],
    [' 1d2h ', 93_600_000],
  ])('%j is read', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(['', ' ', '5', '5 minutes', '-1s', '1h,2m', 'm', '1e3s'])('%j is none', (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [61_000, '1 min 1 s'],
    [112_800_000, '31 h 20 min'],
    [3_600_000, '1 h'],
    [3_605_000, '1 h'],
  ])('%d ms are written %j', (ms, text) => expect(inWords(ms)).toBe(text));
});
