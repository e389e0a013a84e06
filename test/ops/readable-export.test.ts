import { expect, it } from 'vitest';
import { csvCell, exportReadable, type ReadableFormat } from '../../src/ops/export.ts';
import { auditLines, importEvents } from '../../src/ops/index.ts';
import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { FAILED, handled, invalidThen } from './events-in-states.ts';

const ADA = { actor: 'ada' };

async function linesOf(format: ReadableFormat) {
  const inbox = inboxOnFile().inbox;
  await handled(inbox, FAILED, orderEvent('=HYPERLINK("http://evil.example")'));
  await store(inbox, orderEvent('evt_2', { type: 'order.ready' }));
  await store(inbox, { ...invalidThen(orderEvent('evt_3')), body: Buffer.from([0xff]) });
  await store(inbox, { ...invalidThen(orderEvent('evt_4')), body: Buffer.from('{\r\n "id": "evt_4",\n "n": 1.50\n}') });
  const lines = [];
  for await (const line of exportReadable(inbox, format, ADA)) lines.push(line);
  return { inbox, lines };
}

it.each<[string | number | boolean | null, string]>([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+49', "'+49"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tx', "'\tx"],
  ['\r=1', '"\'\r=1"'],
  ['=cmd|"/C calc"!A0', '"\'=cmd|""/C calc""!A0"'],
  [-5, '-5'],
  [true, 'true'],
  [null, ''],
])('the cell %j reads %j: no spreadsheet takes it for a formula', (value, cell) => {
  expect(csvCell(value)).toBe(cell);
});

it('csv has a head and a line for each event, the oldest first', async () => {
  const { inbox, lines } = await linesOf('csv');
  const [head, first, second, third] = lines;
  expect(lines).toHaveLength(5);
  expect(head?.split(',').slice(0, 8)).toEqual([
    '\ufeffreceived',
    'endpoint',
    'id',
    'type',
    'about',
    'created',
    'state',
    'dead_reason',
  ]);
  expect(first).toContain(`,default,"'=HYPERLINK(""http://evil.example"")",order.created,`);
  expect(first).toContain(',dead,failed,');
  expect(first).toContain(',Error: the shop is down,');
  expect(second?.split(',')).toHaveLength(head?.split(',').length ?? 0);
  expect(third).toContain(',evt_3,,,,dead,invalid,');
  expect((await auditLines(inbox)).lines).toMatchObject([{ act: 'export', actor: 'ada', counts: { events: 4 } }]);
});

it('json has a line for each event, with its body as it was sent', async () => {
  const { lines } = await linesOf('json');
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(events[0]).toMatchObject({
    state: 'dead',
    lastError: { message: 'the shop is down' },
    history: [{ number: 1, outcome: 'failed' }],
    body: { type: 'order.created', data: { object: 'order' } },
  });
  expect(events[2]).toMatchObject({ id: 'evt_3', bodyBase64: '/w==' });
  expect(lines[3]).toMatch(/"body":\{ +"id": "evt_4", +"n": 1\.50 \}\}$/);
});

it.each(['csv', 'json'] as const)('what was exported as %s cannot be imported, and that is said', async (format) => {
  const { lines } = await linesOf(format);
  await expect(importEvents(inboxOnFile().inbox, lines, ADA)).rejects.toThrow(
    format === 'json' ? /exports as csv or json cannot be imported/ : /line 1/i,
  );
});
