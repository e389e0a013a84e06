import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { growingTable, lineWidth, texts, times } from '../../src/cli/shared/table.ts';
import { eventTable } from '../../src/cli/events/event-table.ts';
import type { EventSummary } from '../../src/ops/index.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox } from './run-hookbox.ts';

let told: string[] = [];
beforeEach(() => {
  told = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => told.push(String(text)) > 0);
});
afterEach(() => vi.restoreAllMocks());

function printed(work: () => void): readonly string[] {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    work();
    return write.mock.calls
      .map(([text]) => String(text))
      .join('')
      .split('\n')
      .slice(0, -1);
  } finally {
    write.mockRestore();
  }
}

describe('a table that grows', () => {
  it('has one head, and columns that widen where a row needs it', () => {
    const lines = printed(() => {
      const print = growingTable(['id', 'why']);
      print([['a', { text: 'red', style: 'red' }]]);
      print([['longer', '']]);
      print([['b', 'x']]);
    });
    expect(lines).toEqual(['id  why', '--  ---', 'a   red', 'longer', 'b       x']);
  });

  it('cuts the last column where the line ends, and leaves something of it', () => {
    const long = 'x'.repeat(50);
    expect(printed(() => growingTable(['id', 'why'], 30)([['a', long]]))).toEqual([
      'id  why',
      `--  ${'-'.repeat(26)}`,
      `a   ${'x'.repeat(25)}…`,
    ]);
    expect(printed(() => growingTable(['id', 'why'], 5)([['a', long]])).at(-1)).toBe(`a   ${'x'.repeat(15)}…`);
  });
});

function onTerminal(columns: number | undefined, work: () => void): readonly string[] {
  const before = { isTTY: process.stdout.isTTY, columns: process.stdout.columns };
  Object.assign(process.stdout, { isTTY: true, columns });
  try {
    return printed(work).map(stripVTControlCharacters);
  } finally {
    Object.assign(process.stdout, before);
  }
}

const EVENT = {
  id: 'evt_3PqT8mXkRz4VwYb2',
  endpoint: 'default',
  type: 'inventory.out_of_stock',
  entity: 'order:mer_5WkXnQ2bVr7TzLp9:ord_8sKq2mXkRz4VwYb2',
  state: 'pending',
  deadReason: null,
  failures: 3,
  pruned: false,
  attempts: 12,
  receivedAt: new Date('2026-01-01T03:12:07Z'),
  lastError: { name: 'TypeError', message: 'the warehouse '.repeat(20) },
} as unknown as EventSummary;

describe('a table on a terminal', () => {
  const FEW = {
    ...EVENT,
    type: 'order.ready',
    entity: 'ord_1',
    state: 'dead',
    failures: 0,
    lastError: null,
  } as EventSummary;

  it.each([80, 100, 132, undefined])(
    'fits %s columns, and leaves ids and types whole, which commands take',
    (columns) => {
      const width = columns ?? 80;
      const lines = onTerminal(columns, () => eventTable({})([EVENT, FEW]));
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(width);
      expect(lines[0]).toMatch(/^received +id +type( +entity)? +state( +attempts)?( +last error)?$/);
      expect(lines[1]).toMatch(/^[- ]+$/);
      expect(lines[2]).toMatch(/ evt_3PqT8mXkRz4VwYb2 +inventory\.out_of_stock .*pending/);
      expect(lines.join('\n')).toContain('TypeError: the');
      expect(told).toEqual(['Columns are shortened to fit this terminal. Add --wide to see everything.\n']);
    },
  );

  it.each([
    ['evt_01JDB7Q4XKZ8M3TNVRWCEF5H00', 'inventory.out_of_stock', /^id +type +state$/],
    ['evt_01JDB7Q4XKZ8M3TNVRWCEF5H00', 'com.acme.supplier_invoice.escalated', /^id +type +state$/],
    ['evt_1', 'order.ready', /^received +id +type +entity +state +attempts$/],
  ])('leaves out what gives way at 80 columns, beside %s and %s', (id, type, head) => {
    const lines = onTerminal(80, () => eventTable({})([{ ...EVENT, id, type }]));
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(lines[0]).toMatch(head);
    expect(lines[2]).toContain(`${id}  ${type}  `);
    expect(lines[2]).toContain('pend');
  });

  it('shortens even ids and types where a line has no room for them', () => {
    const id = `evt_${'x'.repeat(100)}`;
    const lines = onTerminal(80, () => eventTable({})([{ ...EVENT, id }]));
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(lines[2]).toMatch(/^evt_x+…x+ +inventory\.out_of_stock +pend\S+$/);
  });

  it('has the error beneath its event where there is no room beside it, and no empty line without one', () => {
    const lines = onTerminal(80, () => eventTable({})([FEW, EVENT, FEW]));
    expect(lines.map((line) => line.slice(0, 8))).toEqual([
      'received',
      '--------',
      '2026-01-',
      '2026-01-',
      '    Type',
      '2026-01-',
    ]);
    expect(lines[4]).toHaveLength(80);
    expect(lines[4]).toMatch(/…$/);
  });

  it.each([
    ['where there is room', 500, {}],
    ['with --wide', 80, { wide: true }],
  ])('is as it would be in a pipe %s', (_, columns, options) => {
    const lines = onTerminal(columns, () => eventTable(options)([EVENT]));
    expect(lines).toEqual(printed(() => eventTable({})([EVENT])));
    expect(lines[2]).toContain(`${EVENT.id}  ${EVENT.type}  ${EVENT.entity}`);
    expect(told).toEqual([]);
  });

  it('leaves numbers and words whole, times their minutes, and shortens no more than it must', () => {
    const row = ['1,234,567', '2026-01-01T03:12:07Z', 'signature-mismatch', 'dead (failed)', 'x'];
    const head = ['count', times('at'), texts('reason'), 'state', 'y'];
    const at = (width: number) => printed(() => growingTable(head, width)([row])).at(-1);
    expect(at(69)).toBe(row.join('  '));
    expect(at(68)).toBe('1,234,567  2026-01-01T03:12:07  signature-mismatch  dead (failed)  x');
    expect(at(57)).toBe('1,234,567  2026-01-01T03:12  signa…atch  dead (failed)  x');
  });

  it('is found by the terminal, and by nothing else', () => {
    const seen: number[] = [lineWidth({})];
    onTerminal(97, () => void seen.push(lineWidth({}), lineWidth({ wide: true })));
    onTerminal(undefined, () => void seen.push(lineWidth({})));
    expect(seen).toEqual([Infinity, 97, Infinity, 80]);
  });
});

it('the command fits its list to its terminal, and with --wide it does not', async () => {
  const cwd = scratchFolder();
  const order = `ord_${'o'.repeat(40)}`;
  {
    await using inbox = sqliteInbox(join(cwd, 'hookbox.db'));
    await store(inbox, orderEvent(`evt_${'x'.repeat(40)}`, { order }), orderEvent(`evt_${'y'.repeat(40)}`, { order }));
  }
  const terminal = '--import=data:text/javascript,Object.assign(process.stdout,{isTTY:true,columns:80})';
  const listed = async (...options: readonly string[]): Promise<readonly string[]> => {
    const ran = await runHookbox(['events', 'list', ...options], { cwd, env: { NODE_OPTIONS: terminal } });
    expect(ran.code).toBe(0);
    return stripVTControlCharacters(ran.stdout).trimEnd().split('\n');
  };
  const fitted = await listed();
  expect(fitted.join('\n')).toContain(`evt_${'x'.repeat(40)}  order.created  pending`);
  for (const line of fitted) expect(line.length, line).toBeLessThanOrEqual(80);
  expect((await listed('--wide')).join('\n')).toContain(order);
});
