import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as lambda from '../adapters/aws-lambda.ts';
import * as express from '../adapters/express.ts';
import * as fastify from '../adapters/fastify.ts';
import * as fetch from '../adapters/fetch.ts';
import * as hono from '../adapters/hono.ts';
import * as node from '../adapters/node.ts';
import * as hookbox from '../src/index.ts';
import * as rules from '../src/option-rules.ts';
import * as memory from '../src/inbox/memory/memory-inbox.ts';
import * as postgres from '../src/inbox/postgres/postgres-inbox.ts';
import * as sqlite from '../src/inbox/sqlite/sqlite-inbox.ts';
import * as ops from '../src/ops/index.ts';
import * as page from '../src/page/operators-page.tsx';
import * as sandbox from '../src/sandbox/index.ts';
import * as dashboard from '../src/sandbox/page/sandbox-page.tsx';
import * as client from '../src/client/index.ts';
import * as testing from '../src/testing/index.ts';

const ENTRIES = {
  hookbox,
  'hookbox/sqlite': sqlite,
  'hookbox/memory': memory,
  'hookbox/postgres': postgres,
  'hookbox/hono': hono,
  'hookbox/node': node,
  'hookbox/express': express,
  'hookbox/fastify': fastify,
  'hookbox/fetch': fetch,
  'hookbox/aws-lambda': lambda,
  'hookbox/ops': ops,
  'hookbox/ops/page': page,
  'hookbox/sandbox': sandbox,
  'hookbox/sandbox/page': dashboard,
  'hookbox/client': client,
  'hookbox/testing': testing,
};

const inbox = memory.memoryInbox();
const looked = { ...inbox, operations: {} };
const secret = 'a signing secret';
const by = { actor: 'ada' };
const KEY = { endpoint: 'default', id: 'evt_1' };
const receiver = hookbox.createReceiver({ secret, inbox });

/** How each function is called that takes options: with what it needs, and with options as JavaScript may give them. */
const CALLS: Readonly<Record<string, readonly unknown[]>> = {
  'hookbox createReceiver': [{ secret, inbox }],
  'hookbox createProcessor': [{ inbox, handlers: {} }],
  'hookbox createVerifier': [{ secret }],
  'hookbox rerun': [inbox, KEY, {}],
  'hookbox/sqlite sqliteInbox': ['/nowhere/shop.db', {}],
  'hookbox/memory memoryInbox': [{}],
  'hookbox/postgres postgresInbox': ['postgres://localhost/shop', {}],
  'hookbox/hono webhookVerifier': [{ secret }],
  'hookbox/node webhookVerifier': [{ secret }],
  'hookbox/express webhookVerifier': [{ secret }],
  'hookbox/fastify webhookVerifier': [{ secret }],
  'hookbox/fetch webhookVerifier': [{ secret }],
  'hookbox/fetch webhookHandler': [receiver, {}],
  'hookbox/aws-lambda webhookVerifier': [{ secret }],
  'hookbox/ops listEvents': [looked, {}, {}],
  'hookbox/ops countEvents': [looked, {}, {}],
  'hookbox/ops findEvents': [looked, 'ord_1', {}],
  'hookbox/ops rerunEvents': [looked, [KEY], by, {}],
  'hookbox/ops replayEvent': [looked, KEY, by, { to: 'http://localhost/', secret }],
  'hookbox/ops previewBulk': [looked, 'rerun', {}, by, {}],
  'hookbox/ops runBulk': [looked, 1, by, {}],
  'hookbox/ops listBulks': [looked, {}],
  'hookbox/ops bulkEvents': [looked, 1, {}],
  'hookbox/ops bulkOutcome': [looked, 1, {}],
  'hookbox/ops acknowledgeGroup': [looked, 'failed', by, {}],
  'hookbox/ops pauseType': [looked, 'order.created', by, {}],
  'hookbox/ops resumeType': [looked, 'order.created', by, {}],
  'hookbox/ops exportReadable': [looked, 'csv', by, {}, {}],
  'hookbox/ops pruneEvents': [looked, { settledBefore: new Date() }, by, {}],
  'hookbox/ops eraseEntity': [looked, 'ord_1', by, {}],
  'hookbox/ops exportEvents': [looked, by, {}, {}],
  'hookbox/ops importEvents': [looked, [], by, {}],
  'hookbox/ops importHandled': [looked, [], by, {}],
  'hookbox/ops stats': [looked, {}],
  'hookbox/ops auditLines': [looked, {}],
  'hookbox/ops/page opsPage': [{ inbox: looked }, {}],
  'hookbox/sandbox createSandbox': [{}],
  'hookbox/sandbox/page sandboxPage': [{}, {}],
  'hookbox/client createClient': [{ apiKey: 'key', baseUrl: 'https://service.example' }],
  'hookbox/testing buildEvent': ['order.ready', {}, {}],
  'hookbox/testing testInbox': [{}],
  'hookbox/testing deliverTo': [receiver, {}, { secret }],
  'hookbox/testing signedRequest': [{}, secret, {}],
};

const WITHOUT_OPTIONS = [
  ...['signBody', 'verifySignature', 'parseEvent', 'isKnown', 'entityOf', 'isErrorOutcome'].map(
    (name) => `hookbox ${name}`,
  ),
  ...[
    'getEvent',
    'whyWaiting',
    'deadGroups',
    'reopenGroup',
    'discardEvents',
    'retryEventsNow',
    'retryGroups',
    'cancelBulk',
    'pauseBulk',
    'getBulk',
    'backup',
    'databaseFaults',
    'rejectedDeliveries',
    'pausedTypes',
  ].map((name) => `hookbox/ops ${name}`),
  ...['readiness', 'metrics'].map((name) => `hookbox/ops ${name}`),
  ...['hono', 'node', 'express', 'fastify', 'aws-lambda'].map((name) => `hookbox/${name} webhookHandler`),
  ...['hono', 'node', 'express', 'fastify', 'fetch'].map((name) => `hookbox/${name} pageHandler`),
];

type Called = (...given: readonly unknown[]) => unknown;

function isCalled(value: unknown): value is Called {
  return typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value));
}

const functions = Object.entries(ENTRIES).flatMap(([entry, names]) =>
  Object.entries(names).flatMap(([name, value]) => (isCalled(value) ? [[`${entry} ${name}`, value] as const] : [])),
);
const called = new Map<string, Called>(functions);

/** What a function throws, or rejects with, or yields first. */
async function failureOf(name: string, given: readonly unknown[]): Promise<unknown> {
  try {
    const result = await called.get(name)?.(...given);
    if (typeof result === 'object' && result !== null && 'next' in result && isCalled(result.next)) await result.next();
    return null;
  } catch (failure) {
    return failure;
  }
}

it('knows of every public function whether it takes options', () => {
  expect([...called.keys()].toSorted()).toEqual([...Object.keys(CALLS), ...WITHOUT_OPTIONS].toSorted());
});

describe.each(Object.entries(CALLS))('%s', (name, given) => {
  const before = given.slice(0, -1);

  it('refuses an option that there is not with a sentence that lists those that there are', async () => {
    const failure = await failureOf(name, [...before, { ...(given.at(-1) as object), dryrun: true }]);
    expect(failure).toBeInstanceOf(hookbox.ConfigurationError);
    expect(failure).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/^[\w: ]+unknown option `dryrun`\..* Allowed: \w+/),
    });
  });

  it.each([
    ['null', null],
    ['a text', 'hunter2'],
    ['a list', []],
  ])('refuses %s in place of its options, and does not repeat it', async (_, options) => {
    const failure = await failureOf(name, [...before, options]);
    expect(failure).toBeInstanceOf(hookbox.ConfigurationError);
    expect(String(failure)).not.toContain('hunter2');
  });
});

it.each([
  ['processing', { processing: { concurency: 5 } }],
  ['processing, retry', { processing: { retry: { atempts: 5 } } }],
  ['retention', { retention: { days: 5 } }],
])('%s is looked into, too', (where, wrong) => {
  for (const create of [
    () => Reflect.apply(hookbox.createReceiver, undefined, [{ secret, inbox, ...wrong }]),
    () => Reflect.apply(hookbox.createProcessor, undefined, [{ inbox, handlers: {}, ...wrong }]),
  ]) {
    expect(create).toThrow(`${where}: unknown option`);
  }
});

describe('an option that is on or off, or a function', () => {
  const switches: readonly (readonly [string, string])[] = [
    ['hookbox createReceiver', 'logErrors'],
    ['hookbox createReceiver', 'ordering'],
    ['hookbox createReceiver', 'unsafeUnsigned'],
    ['hookbox createProcessor', 'logErrors'],
    ['hookbox createProcessor', 'ordering'],
    ['hookbox createVerifier', 'unsafeUnsigned'],
    ['hookbox/sqlite sqliteInbox', 'thread'],
    ['hookbox/sqlite sqliteInbox', 'ephemeral'],
    ['hookbox/memory memoryInbox', 'ephemeral'],
    ['hookbox/postgres postgresInbox', 'migrate'],
    ['hookbox/postgres postgresInbox', 'ephemeral'],
    ['hookbox/ops rerunEvents', 'force'],
    ['hookbox/ops previewBulk', 'force'],
    ['hookbox/ops pruneEvents', 'dryRun'],
    ['hookbox/ops eraseEntity', 'dryRun'],
    ['hookbox/ops importEvents', 'dryRun'],
    ['hookbox/ops importEvents', 'trusted'],
    ['hookbox/ops importHandled', 'dryRun'],
  ];

  it.each(switches)(
    '%s: a text for %s is refused, as false that comes from a variable is one',
    async (name, option) => {
      const given = CALLS[name] ?? [];
      const wrong = { ...(given.at(-1) as object), [option]: 'false' };
      expect(await failureOf(name, [...given.slice(0, -1), wrong])).toMatchObject({
        name: 'ConfigurationError',
        message: expect.stringMatching(new RegExp(`${option} must be true or false, not a string\\.$`)),
      });
    },
  );

  it.each([
    ['hookbox createReceiver', 'entity'],
    ['hookbox createReceiver', 'onDead'],
    ['hookbox createProcessor', 'onFailed'],
    ['hookbox/ops runBulk', 'onProgress'],
    ['hookbox/ops/page opsPage', 'authorize'],
    ['hookbox/sandbox createSandbox', 'onTry'],
  ])('%s: a text for %s is refused before the first call of it', async (name, option) => {
    const given = CALLS[name] ?? [];
    const wrong = { ...(given.at(-1) as object), [option]: 'hunter2' };
    expect(await failureOf(name, [...given.slice(0, -1), wrong])).toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringMatching(new RegExp(`${option} must be a function, not a string\\.$`)),
    });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['mask', { mask: 'data.user_id' }, 'mask must be a list, not a string.'],
    ['hosts', { hosts: 'ops.shop.example' }, 'hosts must be a list, not a string.'],
    ['basic', { unsafeOpen: false, basic: { user: 'ada' } }, 'basic must be a list, not another object.'],
    [
      'a user',
      { unsafeOpen: false, basic: [{ user: 'ada', pasword: 'hunter2' }] },
      'basic[0]: unknown option `pasword`',
    ],
    ['a token', { unsafeOpen: false, bearer: ['hunter2'] }, 'bearer[0]: options must be an object, not a string.'],
    ['unsafeOpen', { unsafeOpen: 'false' }, 'unsafeOpen: options must be an object, not a string.'],
  ])('who is let in, and what is hidden, is said as it has to be: %s', async (_, options, why) => {
    const failure = await failureOf('hookbox/ops/page opsPage', [{ inbox: looked }, { unsafeOpen: true, ...options }]);
    expect(failure).toMatchObject({ name: 'ConfigurationError', message: expect.stringContaining(why) });
    expect(String(failure)).not.toContain('hunter2');
  });

  it('onSilent says that it needs silentAfterMs: it would never be called', () => {
    expect(() => hookbox.createReceiver({ secret, inbox, onSilent() {} })).toThrow(/onSilent.*silentAfterMs/);
  });
});

describe('a postgresInbox', () => {
  it.each<[string, unknown, object, RegExp]>([
    ['prepare: true', 'postgres://db/shop', { prepare: true }, /prepare must be 'auto' or false, not a boolean/],
    ['listen: true', 'postgres://db/shop', { listen: true }, /listen must be 'auto', false, or a URL starting/],
    ['a URL that is none for listen', 'postgres://db/shop', { listen: 'hunter2' }, /listen must be/],
    [
      'a URL for a pool',
      { pool: 'postgres://shop:hunter2@db/shop' },
      {},
      /pool must be a Pool from pg; a string has no connect\(\)/,
    ],
    [
      'another object for a pool',
      { pool: { query() {} } },
      {},
      /pool must be a Pool from pg; another object has no connect\(\)/,
    ],
    ['no pool', { pool: undefined }, {}, /Is DATABASE_URL set/],
    ['nothing', undefined, {}, /Is DATABASE_URL set/],
    ['a pool and connections', { pool: { connect() {} }, connect() {} }, {}, /\{ pool \} or \{ connect \}, not both/],
  ])('is refused with a sentence that names what is wrong: %s', (_, source, options, why) => {
    const open = () => Reflect.apply(postgres.postgresInbox, undefined, [source, options]);
    expect(open).toThrow(hookbox.ConfigurationError);
    expect(open).toThrow(why);
    expect(open).not.toThrow(/hunter2/);
  });
});

it('a processor has no mode, which is for receivers', () => {
  const processing = { mode: 'inline' as const };
  const options = { inbox, handlers: {}, processing };
  expect(() => Reflect.apply(hookbox.createProcessor, undefined, [options])).toThrow('`mode`');
  expect(() => hookbox.createReceiver({ secret, inbox, processing })).not.toThrow();
});

it.each([[undefined], [42], [' ']])('no text to find events by is said to be none: %j', async (text) => {
  expect(await failureOf('hookbox/ops findEvents', [looked, text])).toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(
      /^text must be a string of 1 to \d+ characters, not (undefined|42|an empty string)\.$/,
    ),
  });
});

it('what is pruned is looked into, too: a condition that is passed over takes more than is meant', async () => {
  const criteria = { settledBefore: new Date(), type: ['order.created'] };
  expect(await failureOf('hookbox/ops pruneEvents', [looked, criteria, by])).toMatchObject({
    message: expect.stringContaining('unknown option `type`'),
  });
});

describe('the source of a sqliteInbox', () => {
  const open = (...given: readonly unknown[]) => Reflect.apply(sqlite.sqliteInbox, undefined, given);
  const ofAnotherLibrary = { prepare() {}, exec() {}, close() {}, isOpen: true };

  it.each<[string, unknown, RegExp]>([
    ['is missing', undefined, /Is HOOKBOX_DB set/],
    ['is null', null, /Is HOOKBOX_DB set/],
    ['is a number', 7, /a number/],
    ['is a URL of Postgres', 'postgres://shop:hunter2@db/shop', /postgresInbox/],
    ['is an object without a connection', { file: 'shop.db' }, /does not accept `file`/],
    ['is empty', {}, /has no property database/],
    ['has a path for a connection', { database: 'shop.db' }, /Pass a path directly/],
    ['has no connection', { database: undefined }, /undefined/],
    ['has a connection of another library', { database: ofAnotherLibrary }, /no pragma\(\)/],
    ['has options beside it', { database: {}, ephemeral: true }, /does not accept `ephemeral`.*second argument/],
  ])('that %s is refused with a sentence', (_, source, why) => {
    expect(() => open(source)).toThrow(hookbox.ConfigurationError);
    expect(() => open(source)).toThrow(why);
    expect(() => open(source)).not.toThrow(/hunter2/);
  });

  it('that is a connection by itself is to be put into an object', () => {
    const database = new Database(':memory:');
    onTestFinished(() => void database.close());
    expect(() => open(database)).toThrow('{ database }');
  });
});

describe('an inbox that is none', () => {
  it.each<[string, unknown, string]>([
    ['missing', undefined, 'undefined'],
    ['a path', 'shop.db', 'a string'],
    ['a promise of one', Promise.resolve(inbox), 'await it'],
    ['a pool', { connect() {} }, 'another object'],
  ])('is refused with a sentence before the first delivery: %s', (_, given, what) => {
    for (const create of [
      () => hookbox.createReceiver({ secret, inbox: given as hookbox.Inbox }),
      () => hookbox.createProcessor({ inbox: given as hookbox.Inbox, handlers: {} }),
    ]) {
      expect(create).toThrow(hookbox.ConfigurationError);
      expect(create).toThrow(what);
    }
  });

  it('is refused by what operators do, too', async () => {
    for (const given of [undefined, 'shop.db']) {
      await expect(ops.readiness(given as never)).rejects.toThrow('The first argument must be an inbox');
      expect(() => page.opsPage(given as never, { unsafeOpen: true })).toThrow('a receiver, or { inbox }');
    }
  });
});

describe('a rule', () => {
  const above = rules.whole(1, 5);
  it.each<[string, rules.OptionRule, readonly unknown[], readonly unknown[], string]>([
    ['positive', rules.positive(), [0.1, 7], [0, -1, NaN, Infinity, '1', null], 'a number above 0'],
    ['positive with a maximum', rules.positive(10), [10], [11], 'a number above 0 and at most 10'],
    ['whole', above, [1, 5], [0, 6, 1.5, NaN, '2', 2n], 'a whole number of at least 1 and at most 5'],
    [
      'whole without an end',
      rules.whole(0, Infinity),
      [0, Infinity],
      [-1, -Infinity, 0.5],
      'a whole number of at least 0',
    ],
    ['oneOf', rules.oneOf('auto', false, 503), ['auto', false, 503], ['Auto', 0, '503', null], "'auto', false or 503"],
    ['listOf', rules.listOf(['a', 'b']), [[], ['b', 'b']], ['a', ['c'], [['a']], { 0: 'a' }], "a list of 'a' or 'b'"],
    ['listOf with a minimum', rules.listOf(['a', 'b'], 1), [['a']], [[]], "a list of at least 1 of 'a' or 'b'"],
    ['textUpTo', rules.textUpTo(3), ['abc'], ['', ' ', 'abcd', 3, null], 'a string of 1 to 3 characters'],
    ['orNull', rules.orNull(above), [null, 1], [0, undefined], `${above.expected}, or null`],
  ])('%s accepts what it says, and nothing else', (_, { accepts, expected }, accepted, rejected, sentence) => {
    expect(accepted.filter((value) => !accepts(value))).toEqual([]);
    expect(rejected.filter((value) => accepts(value))).toEqual([]);
    expect(expected).toBe(sentence);
  });

  it.each<[unknown, string]>([
    [0, '0'],
    ['hunter2', 'a string'],
    ['x'.repeat(101), 'a string of 101 characters'],
    ['', 'an empty string'],
    [['hunter2'], 'another list'],
    [null, 'null'],
  ])('that is broken shows the kind of a value, and only of a number the value: %j', (value, shown) => {
    expect(() => rules.assertOption('limit', value, above)).toThrow(`limit must be ${above.expected}, not ${shown}.`);
  });
});
