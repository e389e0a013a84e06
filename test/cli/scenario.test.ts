// @module-tag long
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/node.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { silent } from '../helpers/silent-logger.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { endpoint, nobody } from '../sender/endpoint.ts';
import { runHookbox, SECRET, startHookbox, type Ran } from './run-hookbox.ts';

const folder = suiteFolder();

const shipped = readdirSync(new URL('../../fixtures/scenarios/', import.meta.url)).map((file) =>
  file.replace('.json', ''),
);

/** Runs a scenario with a temporary folder of its own, which must be empty again afterwards. */
async function play(...args: readonly string[]): Promise<Ran> {
  const temporary = mkdtempSync(join(folder, 'tmp-'));
  const ran = await runHookbox(['scenario', 'run', ...args], { env: { TMPDIR: temporary } });
  expect(readdirSync(temporary)).toEqual([]);
  return ran;
}

/** What these tests read of a report. */
interface Report {
  readonly seed: number;
  readonly met: boolean | null;
  readonly interrupted: boolean;
  readonly sender: { readonly events: number; readonly deadLetters: number; readonly faults: number };
  readonly receiver: { readonly stored: number; readonly processed: number; readonly effects: number | null } | null;
  readonly expectations: readonly {
    readonly expectation: string;
    readonly met: boolean | null;
    readonly found: string;
  }[];
  readonly deliveries: readonly {
    readonly id: string;
    readonly outcome: string;
    readonly attempts: readonly {
      readonly at: string;
      readonly status: number | null;
      readonly fault: string | null;
    }[];
  }[];
  readonly fingerprint: string;
}

function reportIn({ stdout }: Ran): Report {
  return JSON.parse(stdout) as Report;
}

/** Nothing is left to be wished for, and every event is stored, processed, and had its effect. */
function expectAllMet(ran: Ran): void {
  const report = reportIn(ran);
  expect(report.expectations.filter(({ met }) => met !== true)).toEqual([]);
  expect(report.expectations.map(({ expectation }) => expectation)).toEqual(
    expect.arrayContaining(['every event is stored once', 'every event is handled once']),
  );
  const { events } = report.sender;
  expect(report).toMatchObject({ met: true, interrupted: false, sender: { deadLetters: 0 } });
  expect(report.receiver).toMatchObject({ stored: events, processed: events, effects: events });
  expect(ran.code).toBe(0);
}

let written = 0;
function fileWith(scenario: object | string): string {
  const file = join(folder, `scenario-${(written += 1)}.json`);
  writeFileSync(file, typeof scenario === 'string' ? scenario : JSON.stringify(scenario));
  return file;
}

describe('hookbox scenario run', () => {
  const others = shipped.filter((name) => name !== 'random-faults' && name !== 'receiver-down-two-hours');
  it.each(others)('%s: every expectation is met', async (name) => {
    const ran = await play(name, '--seed', '1', '--json');
    expect(ran.stderr).toBe('seed 1; --seed 1 repeats this run\n');
    expectAllMet(ran);
  });

  it('receiver-down-two-hours follows the real schedule, and ends with every event stored and handled once', async () => {
    const ran = await play('receiver-down-two-hours', '--json');
    expectAllMet(ran);
    const start = Date.parse('2026-01-01T00:00:00Z');
    const retried = reportIn(ran).deliveries.filter(({ attempts }) => attempts.length > 1);
    expect(retried).toHaveLength(135);
    for (const { attempts } of retried) {
      const seconds = attempts.map(({ at }) => (Date.parse(at) - start) / 1_000);
      const first = seconds[0] ?? 0;
      expect(seconds).toEqual([0, 0, 300, 1_200, 4_800, 26_400].map((after) => first + after));
      expect(attempts.map(({ status }) => status)).toEqual([null, null, null, null, null, 200]);
    }
  });

  it('random-faults ends so, too, and the seed that it prints repeats it to the byte', async () => {
    const first = await play('random-faults', '--json');
    expectAllMet(first);
    const { seed, sender } = reportIn(first);
    expect(first.stderr).toBe(`seed ${seed}; --seed ${seed} repeats this run\n`);
    expect(sender).toMatchObject({ events: 330, faults: 1_000 });
    expect((await play('random-faults', '--json', '--seed', String(seed))).stdout).toBe(first.stdout);
  });

  it('prints a report for people, with the seed', async () => {
    const ran = await play('forged-traffic', '--seed', '42');
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain("forged-traffic, seed 42, 11 min on the service's clock\n");
    expect(ran.stdout).toContain('  requests   131: 20 got 200, 111 got 401\n');
    expect(ran.stdout).toContain('  ✓ every event is stored once\n');
    expect(ran.stdout).not.toContain('✗');
  });

  it('--verbose tells of each request', async () => {
    const ran = await play('happy-day', '--seed', '1', '--verbose');
    const lines = ran.stderr.trimEnd().split('\n').slice(1);
    expect(lines).toHaveLength(11);
    expect(lines[0]).toMatch(/^00:02:00 {2}200 {2}order\.created +evt_\w{16} {2}try 1$/);
  });

  it('--time-scale waits that part of the time', async () => {
    const startedAt = performance.now();
    const ran = await play('happy-day', '--time-scale', '86400', '--json');
    expect(ran.code).toBe(0);
    expect(performance.now() - startedAt).toBeGreaterThan(990);
  });

  it('says what was not as expected, and exits with 1', async () => {
    const file = fileWith({
      about: 'An event that no handler can take, and one that no receiver takes.',
      receiver: { handlers: { 'order.failed': { fails: 'always' } } },
      deliveries: [
        { type: 'order.failed', expect: { statuses: [500] } },
        { body: 'no event', expect: { outcome: 'delivered' } },
      ],
      expect: {
        stored: 'once',
        handled: 'once',
        deadLetters: 0,
        dead: 0,
        faults: 1,
        redeliveries: 2,
        statuses: { none: 1 },
      },
    });
    const ran = await play(file);
    expect(ran.code).toBe(1);
    for (const line of [
      '✗ delivery 0 (order.failed) gets 500, but found: 200',
      '✗ delivery 1 (a body) is delivered, but found: dead-lettered',
      '✗ requests without a response: 1, but found: 0',
      '✗ faults: 1, but found: 0',
      '✗ dead letters: 0, but found: 1',
      '✓ every event is stored once',
      '✗ redeliveries: 2, but found: 0',
      '✗ dead events: 0, but found: 1',
    ]) {
      expect(ran.stdout).toContain(`  ${line}\n`);
    }
    expect(ran.stdout).toMatch(/✗ every event is handled once, but found: evt_\w+ is dead\n/);
  });

  it('runs handlers that fail first, retries dead letters by hand, and takes a scenario from standard input', async () => {
    const scenario = {
      about: 'Two days without a receiver, and what is left is retried by hand.',
      receiver: { handlers: { '*': { failsFirst: 2, takes: '2ms' } } },
      down: [{ from: '0', for: '2d' }],
      deliveries: [{ type: 'cart.abandoned', count: 3, expect: { outcome: 'dead-lettered' } }],
      retryDeadLetters: ['3d'],
      expect: { stored: 'once', handled: 'once', deadLetters: 0, statuses: { '200': 3, none: 21 } },
    };
    const ran = await runHookbox(['scenario', 'run', '-'], { input: JSON.stringify(scenario) });
    expect(ran.stdout).toContain('standard input, seed ');
    expect(ran.stdout).toContain('  events     3: 3 delivered (3 of them by hand), 0 dead letters\n');
    expect(ran.stdout).not.toContain('✗');
    expect(ran.code).toBe(0);
  });

  it('deals the faults of a delivery to its manual retries, too', async () => {
    const scenario = {
      about: 'No answer is heard, not even when somebody tries by hand; the second time it is.',
      deliveries: [{ type: 'order.ready', faults: Array<string>(8).fill('lost-answer') }],
      retryDeadLetters: ['3d', '4d'],
      expect: { stored: 'once', redeliveries: 8, deadLetters: 0, statuses: { '200': 1, none: 8 } },
    };
    const ran = await play(fileWith(scenario), '--json');
    const { deliveries, sender, met } = reportIn(ran);
    expect(met).toBe(true);
    expect(sender).toMatchObject({ events: 1, delivered: 1, deliveredByHand: 1, deadLetters: 0 });
    expect(deliveries).toMatchObject([{ outcome: 'delivered-by-hand' }]);
    expect(deliveries[0]?.attempts.map(({ status }) => status)).toEqual([...Array<null>(8).fill(null), 200]);
  });

  it('interrupted, it says so, judges nothing, leaves nothing behind and exits with 130', async () => {
    const temporary = mkdtempSync(join(folder, 'tmp-'));
    const child = startHookbox(['scenario', 'run', 'happy-day', '--time-scale', '60', '--json'], {
      env: { TMPDIR: temporary },
    });
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    while (!stderr.includes('seed')) await delay(10);
    child.kill('SIGINT');
    await once(child, 'close');
    expect(child.exitCode).toBe(130);
    expect(stderr).toContain('the run was interrupted, so nothing was checked\n');
    expect(JSON.parse(stdout)).toMatchObject({ interrupted: true, met: false, expectations: [] });
    expect(readdirSync(temporary)).toEqual([]);
  });
});

describe('hookbox scenario run --to', () => {
  async function receiverWith(handlers: Handlers) {
    const db = join(mkdtempSync(join(folder, 'receiver-')), 'inbox.db');
    const inbox = sqliteInbox(db);
    const receiver = createReceiver({ secret: SECRET, inbox, handlers, logger: silent, endpoint: 'shop' });
    await receiver.start();
    const handle = webhookHandler(receiver);
    const server = createServer((request, response) => void handle(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // of a server that listens on TCP
    return {
      db,
      url: `http://localhost:${port}/webhooks`,
      async [Symbol.asyncDispose]() {
        server.close();
        server.closeAllConnections();
        await receiver.close();
        await inbox.close();
      },
    };
  }

  it('plays it to a receiver that runs elsewhere, and looks into its inbox with --db', async () => {
    await using receiver = await receiverWith({ '*': () => {} });
    const args = ['--to', receiver.url, '--db', receiver.db, '--endpoint', 'shop', '--seed', '5', '--json'];
    const ran = await play('receiver-down-two-hours', ...args);
    const report = reportIn(ran);
    expect(report.expectations.filter(({ met }) => met !== true)).toEqual([]);
    expect(report.receiver).toMatchObject({ stored: 181, processed: 181, effects: null });
    expect(ran.code).toBe(0);

    const again = await play('receiver-down-two-hours', ...args);
    expect(again.stderr).toContain('note: 181 of these events are already in the inbox of the receiver');
    const missed = reportIn(again).expectations.filter(({ met }) => met === false);
    expect(missed).toEqual([{ expectation: 'redeliveries: 0', met: false, found: '181' }]);
    expect(again.code).toBe(1);
  });

  it('without --db does not call met what it cannot see, and exits with 3', async () => {
    await using to = await endpoint(({ headers }) => (headers['x-signature'] === undefined ? 401 : 200));
    const scenario = { about: 'x', deliveries: [{ type: 'order.ready' }], expect: { stored: 'once' } };
    const ran = await play(fileWith(scenario), '--to', to.url);
    expect(ran.stdout).toContain(
      '  - every event is stored once: not checked: pass the inbox of the receiver with --db\n',
    );
    expect(ran.stderr).toContain('Some expectations could not be checked; pass the inbox of the receiver with --db\n');
    expect(ran.code).toBe(3);
    const json = await play(fileWith(scenario), '--to', to.url, '--json');
    expect(reportIn(json).met).toBeNull();
    expect(json.code).toBe(3);
  });

  it('finds answers that nobody expects, those to copies too', async () => {
    let requests = 0;
    await using to = await endpoint(() => ((requests += 1) % 3 === 2 ? 500 : 200));
    const scenario = {
      about: 'Each of two copies is taken.',
      deliveries: [
        { type: 'order.ready', faults: [{ kind: 'duplicate', copies: 2 }], expect: { statuses: [200] } },
        { type: 'order.ready', faults: [{ kind: 'duplicate', copies: 2 }], expect: { statuses: [200], copies: [500] } },
      ],
      expect: { statuses: { 200: 4 } },
    };
    const ran = await play(fileWith({ ...scenario, sender: { concurrency: 1 } }), '--to', to.url);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toContain('✗ copies of delivery 0 (order.ready) get 200, but found: 500\n');
    expect(ran.stdout).toContain('✗ copies of delivery 1 (order.ready) get 500, but found: 200\n');
    expect(ran.stdout).toContain('✗ no other responses, but found: 500 (2 times)\n');
  });

  it('says at once which types no handler takes', async () => {
    await using receiver = await receiverWith({ 'order.ready': () => {} });
    const scenario = {
      about: 'Two types, one of which the receiver handles.',
      deliveries: [{ type: 'order.ready' }, { type: 'cart.abandoned' }],
      expect: { handled: 'once' },
    };
    const startedAt = performance.now();
    const args = ['--to', receiver.url, '--db', receiver.db, '--endpoint', 'shop'];
    const ran = await play(fileWith(scenario), ...args);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(
      /✗ every event is handled once, but found: evt_\w+ is pending, because no handler handles cart\.abandoned\n/,
    );
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  it('finds a receiver that takes forged traffic', async () => {
    await using careless = await endpoint(() => 200);
    const ran = await play('forged-traffic', '--to', careless.url);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toContain('✗ delivery 1 (unsigned) gets 401, but found: 200 (10 times)\n');
    expect(ran.stdout).toContain('✗ delivery 8 (changed-body) gets 401, but found: 200 (10 times)\n');
  });

  it('is signed with the secret in the environment', async () => {
    await using receiver = await receiverWith({});
    const env = { SIGNING_SECRET: 'another' };
    const ran = await runHookbox(['scenario', 'run', 'happy-day', '--to', receiver.url], { env });
    expect(ran.code).toBe(1);
    expect(ran.stdout).toContain('77 got 401');
    expect(ran.stdout).not.toContain('another');
  });

  it.each([
    ['nobody listens there', async () => ['--to', await nobody()], 1, 'the connection was refused'],
    ['it is another machine', async () => ['--to', 'http://203.0.113.1/'], 2, 'Add --allow-remote'],
    ['--db stands alone', async () => ['--db', 'x.db'], 2, 'Use --to and --db together, or neither'],
  ])('refuses when %s', async (_, argsOf, code, message) => {
    const ran = await play('happy-day', ...(await argsOf()));
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(message);
  });

  it('refuses a --db that is not there, and makes none', async () => {
    await using receiver = await receiverWith({});
    const missing = join(folder, 'missing.db');
    const ran = await play('happy-day', '--to', receiver.url, '--db', missing);
    expect(ran).toMatchObject({ code: 4, stdout: '' });
    expect(readdirSync(folder)).not.toContain('missing.db');
  });
});

describe('a scenario that cannot be run', () => {
  it.each([
    [
      'a file that is no scenario',
      ['run', 'package.json'],
      2,
      'about: Invalid input: expected string, received undefined',
    ],
    ['a name that is none', ['run', 'sad-day'], 4, 'The scenarios are: duplicate-storm, forged-traffic, happy-day'],
    ['a file that is not there', ['run', './sad-day.json'], 4, 'hookbox cannot read ./sad-day.json'],
    ['a seed that is none', ['run', 'happy-day', '--seed', '1.5'], 2, 'Use a whole number from 0 to 4294967295.'],
    ['a scale that is none', ['run', 'happy-day', '--time-scale', '0'], 2, 'Use a number above 0.'],
    ['no subcommand', [], 2, 'Usage: hookbox scenario'],
  ])('%s', async (_, args, code, message) => {
    const ran = await runHookbox(['scenario', ...args]);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).not.toContain('    at ');
  });
});

describe('hookbox scenario list and schema', () => {
  it('lists what is shipped', async () => {
    const ran = await runHookbox(['scenario', 'list']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(
      ran.stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(shipped.toSorted());
    const { stdout } = await runHookbox(['scenario', 'list', '--json']);
    expect(JSON.parse(stdout)).toHaveLength(shipped.length);
  });

  it('prints a JSON Schema that names what a file may hold', async () => {
    const ran = await runHookbox(['scenario', 'schema']);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    const { properties } = JSON.parse(ran.stdout) as { properties: object };
    const file = readFileSync(new URL('../../fixtures/scenarios/random-faults.json', import.meta.url), 'utf8');
    for (const key of Object.keys(JSON.parse(file) as object)) expect(properties).toHaveProperty(key);
  });
});
