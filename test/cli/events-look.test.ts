import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { getEvent, listEvents, type EventFilter } from '../../src/ops/index.ts';
import { prettyJson, readableBody } from '../../src/ops/body/readable-body.ts';
import { eventFilterOf, withFilter } from '../../src/cli/events/options.ts';
import { timelineLines } from '../../src/cli/events/show.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';
import { EXACT, HOSTILE, ndjson, sharedStockedFolder, STEERING, stockedFolder, STOCKED } from './stocked-inbox.ts';

let folder: Awaited<ReturnType<typeof sharedStockedFolder>>;
beforeAll(async () => {
  folder = await sharedStockedFolder();
});
afterAll(() => folder[Symbol.dispose]());

function events(...args: readonly string[]): Promise<Ran> {
  return runHookbox(['events', ...args], { cwd: folder.path });
}

describe('hookbox events list', () => {
  it('prints a table, the newest first, in which nobody else begins a line', async () => {
    const { code, stdout, stderr } = await events('list');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toMatch(STEERING);
    const [head, dashes, ...rows] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^received +id +type +entity +state +attempts +last error$/);
    expect(dashes).toMatch(/^[- ]+$/);
    expect(rows.map((row) => row.split(/ {2,}/)[1])).toEqual(
      STOCKED.map((id) => (id === 'evt_other' ? 'evt_other (shop-2)' : id)).toReversed(),
    );
    expect(rows.find((row) => row.includes('evt_dead_1'))).toMatch(
      /^2026-01-01T00:00:00Z {2}evt_dead_1 +order\.ready +order::ord_42 +dead \(failed\) +1 +Error: the shop is down$/,
    );
    expect(rows.find((row) => row.includes('evt_hostile'))).toContain('TypeError: \\u{1b}[31mred\\u{9b}2J');
    expect(stdout).toContain('pending (retrying)');
    expect(rows.find((row) => row.includes('evt_new'))).toContain('pending (no processor)');
    expect(stdout).toContain('processed (pruned)');
  });

  it('lists in another order, and finds by whatever is at hand', async () => {
    const idsIn = ({ stdout }: Ran): readonly string[] =>
      stdout.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as { id: string }).id));
    const [oldest, failed, found, none] = await Promise.all([
      events('list', '--order', 'oldest', '--limit', '2', '--json'),
      events('list', '--order', 'failed', '--json'),
      events('find', 'SHOP is', '--json'),
      events('find', 'evt_dead_9'),
    ]);
    expect(idsIn(oldest)).toEqual(STOCKED.slice(0, 2));
    expect(oldest.stderr).toBe('Newer events may exist. For the next page, add --before 2\n');
    expect(idsIn(failed).toSorted()).toEqual(['evt_dead_1', 'evt_dead_2', 'evt_hostile', 'evt_invalid']);
    expect(idsIn(found)).toEqual(['evt_dead_2', 'evt_dead_1', 'evt_retrying']);
    expect(none).toMatchObject({ code: 4, stdout: '' });
    expect(none.stderr).toContain('Did you mean evt_dead_1, evt_dead_2');
    expect(none.stderr).toContain('To search bodies: hookbox events list --body-text ');
  });

  it('says of an inbox without events that there are none, and not that none fit', async () => {
    const cwd = scratchFolder();
    await sqliteInbox(join(cwd, 'hookbox.db')).close();
    const [all, some] = await Promise.all(
      [[], ['--state', 'dead']].map((filter) => runHookbox(['events', 'list', ...filter], { cwd })),
    );
    expect(all).toEqual({ code: 0, stdout: '', stderr: 'hookbox.db has no events.\n' });
    expect(some?.stderr).toBe('hookbox.db has no matching event.\n');
  });

  it('takes filters, and prints as JSON what listEvents returns', async () => {
    const filter: EventFilter = { states: ['dead'], error: 'SHOP is', until: new Date('2026-01-02') };
    const [ran, none] = await Promise.all([
      events('list', '--state', 'dead', '--error', 'SHOP is', '--until', '2026-01-02', '--json'),
      events('list', '--type', 'order.craeted'),
    ]);
    await using inbox = sqliteInbox(join(folder.path, 'hookbox.db'));
    const page = await listEvents(inbox, filter);
    expect(page.events.map(({ id }) => id)).toEqual(['evt_dead_2', 'evt_dead_1']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(ndjson(ran)).toEqual(asJson(page.events));
    expect(none).toEqual({
      code: 0,
      stdout: '',
      stderr: 'hookbox.db has no matching event.\n"order.craeted" is not a known type. Did you mean order.created?\n',
    });
  });

  it('stops at the limit and says how to go on; all of them are there in the end', async () => {
    const first = await events('list', '--limit', '4', '--json');
    const [, before = ''] = /For the next page, add --before (\d+)\n$/.exec(first.stderr) ?? [];
    const rest = await events('list', '--all', '--before', before, '--json');
    expect(rest.stderr).toBe('');
    expect([...ndjson(first), ...ndjson(rest)].map(({ id }) => id)).toEqual(STOCKED.toReversed());
  });

  it('groups dead events', async () => {
    const [people, programs] = await Promise.all([events('list', '--groups'), events('list', '--groups', '--json')]);
    const groups = ndjson(programs);
    expect(groups[0]).toMatchObject({ count: 2, reason: 'failed', sample: { message: 'the shop is down' } });
    expect(people.code).toBe(0);
    expect(people.stdout).toMatch(
      new RegExp(`^2 .* ${String(groups[0]?.['fingerprint'])} +failed +evt_dead_2 +Error: the shop is down$`, 'm'),
    );
    expect(people.stdout).not.toMatch(STEERING);
    expect(people.stderr).toBe(
      'To rerun a group: hookbox events rerun --fingerprint <group>\n' +
        'To acknowledge a group: hookbox events acknowledge <group>\n',
    );
  });
});

describe('hookbox events show', () => {
  it('shows the timeline, the error with its stack, and the body as it was written', async () => {
    const [dead, exact] = await Promise.all([events('show', 'evt_hostile'), events('show', 'evt_exact')]);
    expect(dead).toMatchObject({ code: 0, stderr: '' });
    expect(dead.stdout).not.toMatch(STEERING);
    expect(dead.stdout).toMatch(/^evt_hostile {2}order\.created {2}dead \(failed\)\n/);
    expect(dead.stdout).toMatch(
      /received and stored\n.*attempt 1 failed after 1 ms: TypeError: .*second line\n +at handle \(\/shop\/handlers\.js:7:3\)\n.* {2}dead\n/,
    );
    expect(exact.stdout).toMatch(/received and stored\n.* redelivered with a different body \(conflict\)\n/);
    expect(exact.stdout).toContain(
      '    "total": 12.50,\n    "big": 12345678901234567890,\n    "name": "T\\u00e9a",\n    "name": "Tea",\n',
    );
    expect(exact.stdout).toContain('The newest conflicting body with this id');
  });

  it('prints the stored bytes alone, everything as JSON, and masks fields', async () => {
    const [raw, json, masked, other] = await Promise.all([
      events('show', 'evt_exact', '--raw'),
      events('show', 'evt_exact', '--json'),
      events('show', 'evt_exact', '--mask', 'data.email', '--mask', 'data.total'),
      events('show', 'evt_other'),
    ]);
    expect(raw).toEqual({ code: 0, stdout: EXACT, stderr: '' });
    await using inbox = sqliteInbox(join(folder.path, 'hookbox.db'));
    const history = await getEvent(inbox, { endpoint: 'default', id: 'evt_exact' });
    expect(JSON.parse(json.stdout)).toMatchObject({
      id: 'evt_exact',
      body: EXACT,
      conflict: { count: 1, body: `${EXACT} ` },
      redeliveries: { count: 2 },
      timeline: asJson(history?.timeline ?? []),
    });
    expect(masked.stdout).toMatch(/^ +why +is waiting; no processor for order\.ready has ever run$/m);
    expect(masked.stdout).toContain('"email": "•••"');
    expect(masked.stdout).not.toMatch(/ada@example|12\.50/);
    expect(other.stdout).toMatch(/^evt_other \(shop-2\) /);
  });

  it('says what is not there', async () => {
    const [none, elsewhere, pruned] = await Promise.all([
      events('show', 'evt_\u001b[2J'),
      events('show', 'evt_other', '--endpoint', 'default'),
      events('show', 'evt_pruned', '--raw'),
    ]);
    expect(none).toEqual({ code: 4, stdout: '', stderr: 'hookbox.db has no event "evt_\\u001b[2J".\n' });
    expect(elsewhere).toMatchObject({ code: 4, stderr: expect.stringContaining('of the endpoint "default".') });
    expect(pruned).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('"evt_pruned" was pruned') });
  });
});

describe('an end of an id', () => {
  it.each([
    ['ad_1', 'evt_dead_1'],
    ['…ad_1', 'evt_dead_1'],
    ['evt_…ad_1', 'evt_dead_1'],
    ['…uned', 'evt_pruned'],
  ])('%s shows %s', async (end, id) => {
    const { code, stdout, stderr } = await events('show', end);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split(' ', 1)).toEqual([id]);
  });

  it.each(['evt_…dead_9', 'evx_…ad_1', '…d_1', 'EAD_1', '…'])('is not %s', async (end) => {
    const { code, stdout, stderr } = await events('show', end);
    expect({ code, stdout, stderr }).toEqual({
      code: 4,
      stdout: '',
      stderr: `hookbox.db has no event ${JSON.stringify(end)}.\n`,
    });
  });

  it('has its mark of omission where a program reads the answer: a whole id must not show another event', async () => {
    for (const format of ['--json', '--raw']) {
      expect(await events('show', 'ad_1', format)).toMatchObject({ code: 4, stdout: '' });
      expect((await events('show', '…ad_1', format)).stdout).toContain('evt_dead_1');
    }
  });

  it('that several have is refused, unless it is the whole id of one', async () => {
    const cwd = scratchFolder();
    {
      await using inbox = sqliteInbox(join(cwd, 'hookbox.db'));
      await store(inbox, orderEvent('evt_ax9Kq'), orderEvent('evt_bx9Kq'), orderEvent('x9Kq_'), orderEvent('bx9Kq'));
    }
    const shown = async (id: string) => runHookbox(['events', 'show', id], { cwd });
    const { code, stderr } = await shown('…x9Kq');
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /"…x9Kq" matches several events: "\w+x9Kq", "\w+x9Kq", "\w+x9Kq"\. Type more characters of the id\.\n/,
    );
    expect((await shown('evt_…x9Kq')).code).toBe(2);
    expect((await shown('…ax9Kq')).stdout).toMatch(/^evt_ax9Kq /);
    expect((await shown('bx9Kq')).stdout).toMatch(/^bx9Kq /);
  });
});

describe('an id that a list has shortened at 80 columns', () => {
  const TERMINAL = '--import=data:text/javascript,Object.assign(process.stdout,{isTTY:true,columns:80})';
  const long = (end: string): string => `evt_${'x'.repeat(80)}${end}`;

  async function inboxWith(...ids: readonly string[]): Promise<string> {
    const cwd = scratchFolder();
    await using inbox = sqliteInbox(join(cwd, 'hookbox.db'));
    await store(inbox, ...ids.map((id) => orderEvent(id, { type: 'com.acme.supplier_invoice.escalated' })));
    return cwd;
  }

  it('can be pasted into every command that takes an id', async () => {
    const id = long('wYb2');
    const cwd = await inboxWith(id, long('wYb3'));
    const listed = await runHookbox(['events', 'list'], { cwd, env: { NODE_OPTIONS: TERMINAL } });
    const [, pasted = ''] = /(evt_x+…x*wYb2) /.exec(listed.stdout) ?? [];
    expect(pasted).not.toBe('');

    const run = async (...args: readonly string[]) => await runHookbox(args, { cwd });
    expect((await run('events', 'show', pasted)).stdout).toMatch(new RegExp(`^${id} `));
    expect((await run('replay', pasted, '--dry-run')).stdout).toContain(id);
    expect((await run('fixtures', 'capture', pasted)).stdout).toContain(id);
    expect((await run('events', 'retry-now', pasted)).stdout).toContain(id);
    expect(await run('events', 'discard', pasted, id)).toMatchObject({ code: 0, stdout: `discarded  ${id}\n` });
    expect(await run('events', 'rerun', pasted, '--state', 'discarded')).toMatchObject({
      code: 0,
      stdout: `rerun  ${id}\n`,
    });
  });

  it('that several events have is an error with up to five candidates', async () => {
    const cwd = await inboxWith(...['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => long(`${letter}wYb2`)));
    const ran = await runHookbox(['events', 'rerun', 'evt_…wYb2'], { cwd });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr.match(/"evt_x+[a-f]wYb2"/g)).toHaveLength(5);
    expect(ran.stderr).toMatch(/, and more\. Type more characters of the id\.\n$/);
  });
});

describe('the group of a dead event', () => {
  it('steers no terminal, whatever a file holds in its place', async () => {
    const cwd = await stockedFolder();
    const database = new Database(join(cwd, 'hookbox.db'));
    database.prepare("UPDATE hookbox_events SET fingerprint = ? WHERE id = 'evt_dead_1'").run(HOSTILE);
    database.close();
    const [groups, shown] = await Promise.all([
      runHookbox(['events', 'list', '--groups'], { cwd }),
      runHookbox(['events', 'show', 'evt_dead_1'], { cwd }),
    ]);
    for (const { stdout } of [groups, shown]) {
      expect(stdout).toContain('\\u{1b}[31mred');
      expect(stdout).not.toMatch(STEERING);
    }
  });
});

it('the timeline says of redeliveries that are not known one by one that they are from there on', () => {
  const at = new Date('2026-01-01T00:00:00Z');
  expect(timelineLines([{ what: 'redeliveries', at, count: 1_234 }])).toEqual([
    expect.stringMatching(/redelivered 1,234 times after this, in addition to the redeliveries listed below$/),
  ]);
});

it('the timeline says which processor ran how many attempts, and when a crash was found', () => {
  const [startedAt, endedAt] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-01T00:00:15Z')];
  const ran = { number: 1, trigger: 'auto', startedAt, endedAt, error: null } as const;
  const told: string[] = (['crashed', 'processed'] as const).flatMap((outcome) =>
    timelineLines([{ what: 'attempt', at: endedAt, attempt: { ...ran, outcome } }]),
  );
  const known = { ...ran, outcome: 'failed', limit: 20, processor: '4711-\u001ba' } as const;
  told.push(...timelineLines([{ what: 'attempt', at: endedAt, attempt: known }]));
  expect(told).toEqual([
    expect.stringMatching(/attempt 1 crashed, detected after 15(\.0)? s$/),
    expect.stringMatching(/attempt 1 processed after 15(\.0)? s$/),
    expect.stringMatching(/attempt 1 of 20 failed after 15(\.0)? s by processor 4711-\\u\{1b\}a$/),
  ]);
});

it('the timeline says why a handler let an event go by', () => {
  const at = new Date('2026-01-01T00:00:00Z');
  const ran = { number: 1, trigger: 'auto', startedAt: at, endedAt: at, error: null, outcome: 'processed' } as const;
  expect(timelineLines([{ what: 'attempt', at, attempt: { ...ran, skipped: 'not\u001b[2J ours' } }])).toEqual([
    expect.stringMatching(/attempt 1 processed after \S+ \S+, skipped: not\\u\{1b\}\[2J ours$/),
  ]);
});

it('the timeline says which event superseded one, and that the handler did not run', () => {
  const at = new Date('2026-01-01T00:00:00Z');
  const line = { number: 1, trigger: 'auto', startedAt: at, endedAt: at, error: null, outcome: 'superseded' } as const;
  const said = ['superseded by evt\u001b[2J', undefined].flatMap((skipped) =>
    timelineLines([{ what: 'attempt', at, attempt: { ...line, ...(skipped !== undefined && { skipped }) } }]),
  );
  expect(said).toEqual([
    expect.stringMatching(/ superseded by evt\\u\{1b\}\[2J; its handler did not run$/),
    expect.stringMatching(/ superseded by a newer event; its handler did not run$/),
  ]);
});

it('the timeline shows the steps that an attempt has run', () => {
  const at = new Date('2026-01-01T00:00:00Z');
  expect(timelineLines([{ what: 'step', at, name: 'mail\u001b[2J', attempt: 2 }])).toEqual([
    expect.stringContaining(String.raw`attempt 2 ran the step mail\u{1b}[2J`),
  ]);
});

it('the timeline shows the lines that an attempt logged', () => {
  const at = new Date('2026-01-01T00:00:00Z');
  const ran = { number: 1, trigger: 'auto', startedAt: at, endedAt: at, error: null, outcome: 'processed' } as const;
  const log = [{ afterMs: 20, level: 'warn', text: 'late\u001b[2J (days=3)' }] as const;
  expect(timelineLines([{ what: 'attempt', at, attempt: { ...ran, log } }])).toEqual([
    expect.stringContaining('attempt 1 processed'),
    expect.stringContaining(String.raw`+20 ms warn: late\u{1b}[2J (days=3)`),
  ]);
});

describe('the options of a filter', () => {
  it('cover everything that a filter can say', () => {
    const args =
      '--type order.ready --type cart.abandoned --state dead --state ignored --dead-reason failed --since 2026-01-01 ' +
      '--until 2026-01-02T03:04:05+01:00 --failed-since 2026-01-04 --failed-until 2026-01-05 --text Ord_4 --id evt_1 --entity ord_42 --merchant mer_7 --error timed --redelivered ' +
      '--conflict --superseded --ignored-since 2026-01-03 --retrying --body data.total=12.5 --body a=b=c --body-text ada@shop.example --fingerprint 5f3a --bulk 7 --endpoint shop';
    // Events by their keys are named by arguments.
    const everything: Required<Omit<EventFilter, 'events' | 'bodyTextExcept'>> = {
      types: ['order.ready', 'cart.abandoned'],
      states: ['dead', 'ignored'],
      deadReasons: ['failed'],
      since: new Date('2026-01-01T00:00:00Z'),
      until: new Date('2026-01-02T02:04:05Z'),
      failedSince: new Date('2026-01-04T00:00:00Z'),
      failedUntil: new Date('2026-01-05T00:00:00Z'),
      text: 'Ord_4',
      id: 'evt_1',
      entity: 'ord_42',
      merchant: 'mer_7',
      error: 'timed',
      redelivered: true,
      conflict: true,
      superseded: true,
      ignoredSince: new Date('2026-01-03T00:00:00Z'),
      retrying: true,
      body: [
        { path: 'data.total', value: '12.5' },
        { path: 'a', value: 'b=c' },
      ],
      bodyText: 'ada@shop.example',
      fingerprint: '5f3a',
      bulk: 7,
      endpoint: 'shop',
    };
    const parsed = withFilter(new Command()).parse(args.split(' '), { from: 'user' });
    expect(eventFilterOf(parsed.opts())).toEqual(everything);
    expect(eventFilterOf(withFilter(new Command()).parse([], { from: 'user' }).opts())).toEqual({});
  });

  it('refuse more conditions on the body than a search takes, in the words of the function', async () => {
    const nine = Array.from({ length: 9 }, (_, n) => ['--body', `data.f${n}=1`]).flat();
    const { code, stdout, stderr } = await events('list', ...nine);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('The filter condition body must have at most 8 values, not 9.');
  });

  it.each(['data.total', '=12'])('refuse %s as a condition', (body) => {
    expect(() => eventFilterOf({ body: [body] })).toThrow('must be path=value');
  });
});

describe('a body for people', () => {
  it('is indented like JSON.stringify does it, whatever it holds', () => {
    for (const value of [{ a: [1, { b: [{}], c: [] }], d: '"}{[,: \\' }, [], {}, 'text', 1.5, null, [[[]]]]) {
      expect(prettyJson(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
    }
  });

  it('stays small and quick for a megabyte of brackets', () => {
    const deep = '['.repeat(500_000) + ']'.repeat(500_000);
    expect(prettyJson(deep).length).toBeLessThan(deep.length * 1.1);
  });

  it('that is no JSON is shown in the lines that it has, and JSON with escapes for what steers a terminal', () => {
    expect(readableBody(Buffer.from('{"a": \u001b[2J\n\u009b'))).toEqual(['  {"a": \u001b[2J', '  \u009b']);
    expect(readableBody(Buffer.from('{"a":"\u009b\u202e\u2028é"}'))).toEqual([
      '{',
      '  "a": "\\u009b\\u202e\\u2028é"',
      '}',
    ]);
  });
});

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
