import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ephemeralHost } from '../../src/host/files.ts';
import { createReceiver, InboxOpenError, type Inbox, type Receiver, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { SECRET, signedEvent } from '../helpers/signed-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

type Variables = Readonly<Record<string, string>>;
interface Host {
  readonly name: string;
  readonly variables: Variables;
  readonly userAgent?: string;
}

/** Each as its documentation says that it makes itself known, among what else is set there. */
const FROZEN: readonly Host[] = [
  {
    name: 'AWS Lambda',
    variables: { AWS_LAMBDA_FUNCTION_NAME: 'orders', AWS_REGION: 'eu-central-1', LAMBDA_TASK_ROOT: '/var/task' },
  },
  { name: 'Vercel', variables: { VERCEL: '1', VERCEL_ENV: 'production' } },
  { name: 'Vercel', variables: { VERCEL: '1', VERCEL_ENV: 'preview' } },
  { name: 'Vercel', variables: { VERCEL: '1' } },
  { name: 'Cloudflare Workers', variables: {}, userAgent: 'Cloudflare-Workers' },
  { name: 'Deno Deploy', variables: { DENO_DEPLOYMENT_ID: 'k3x8m2q7' }, userAgent: 'Deno/2.9.5' },
  {
    name: 'Cloud Run or Cloud Functions',
    variables: { K_SERVICE: 'orders', K_REVISION: 'orders-00001-abc', PORT: '8080' },
  },
  { name: 'Cloud Run jobs', variables: { CLOUD_RUN_JOB: 'orders' } },
  { name: 'App Engine', variables: { GAE_ENV: 'standard' } },
  { name: 'Azure Functions', variables: { FUNCTIONS_WORKER_RUNTIME: 'node', WEBSITE_SITE_NAME: 'orders' } },
];
const HEROKU: Host = { name: 'Heroku', variables: { DYNO: 'web.1', PORT: '4711' } };
const EPHEMERAL: readonly Host[] = [...FROZEN, HEROKU];

const LASTING: readonly Host[] = [
  { name: 'nothing is set', variables: {} },
  {
    name: "SAM runs it on a developer's machine",
    variables: { AWS_LAMBDA_FUNCTION_NAME: 'orders', AWS_SAM_LOCAL: 'true' },
  },
  {
    name: "Azure's tools run it there",
    variables: { FUNCTIONS_WORKER_RUNTIME: 'node', AZURE_FUNCTIONS_ENVIRONMENT: 'Development' },
  },
  { name: 'App Engine flexible', variables: { GAE_ENV: 'flex' } },
  {
    name: 'only what is set everywhere',
    variables: { PATH: '/usr/bin', HOME: '/root', NODE_ENV: 'production', PORT: '3000' },
  },
  {
    name: 'everything is empty',
    variables: { AWS_LAMBDA_FUNCTION_NAME: '', VERCEL: '', DENO_DEPLOYMENT_ID: '', K_SERVICE: '', DYNO: '' },
  },
  {
    name: 'it is a machine of AWS, but no function',
    variables: { AWS_REGION: 'eu-central-1', AWS_EXECUTION_ENV: 'AWS_ECS_FARGATE' },
  },
  { name: 'it is a developer with the Vercel CLI', variables: { VERCEL: '1', VERCEL_ENV: 'development' } },
  { name: 'it is a pod of Kubernetes', variables: { KUBERNETES_SERVICE_HOST: '10.0.0.1' } },
  { name: 'it is a machine of Fly.io', variables: { FLY_APP_NAME: 'orders' } },
  { name: 'it is Deno on a machine', variables: {}, userAgent: 'Deno/2.9.5' },
  { name: 'it is Node', variables: {}, userAgent: 'Node.js/24' },
  { name: 'it is a browser that speaks of Cloudflare', variables: {}, userAgent: 'Mozilla/5.0 (Cloudflare-Workers)' },
];

function liveOn({ variables, userAgent }: Host): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  if (userAgent !== undefined) vi.stubGlobal('navigator', { userAgent });
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

describe('ephemeralHost', () => {
  it.each(FROZEN)(
    'knows $name, which runs nothing between requests, by $variables',
    ({ name, variables, userAgent }) => {
      expect(ephemeralHost(variables, userAgent ?? 'Node.js/24')).toMatchObject({ name, frozenBetweenRequests: true });
    },
  );

  it('knows Heroku, which runs on', () => {
    expect(ephemeralHost(HEROKU.variables, '')).toMatchObject({ name: 'Heroku', frozenBetweenRequests: false });
  });

  it.each(LASTING)('takes it for an ordinary machine when $name', ({ variables, userAgent }) => {
    expect(ephemeralHost(variables, userAgent ?? 'Node.js/24')).toBeNull();
  });

  it.each(EPHEMERAL)('looks at this process for $name unless told', (host) => {
    expect(ephemeralHost()).toBeNull();
    liveOn(host);

    expect(ephemeralHost()?.name).toBe(host.name);
  });

  it('works where there is neither process nor navigator', () => {
    vi.stubGlobal('navigator', undefined);
    vi.stubGlobal('process', undefined);
    try {
      expect(ephemeralHost()).toBeNull();
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

/** Every way to open an inbox. */
const OPENING: readonly (readonly [how: string, names: string, open: (options?: { ephemeral: boolean }) => Inbox])[] = [
  ['memoryInbox', 'memoryInbox', memoryInbox],
  ['sqliteInbox with a file', 'sqliteInbox', (options) => sqliteInbox(scratchFile(), options)],
  [
    'sqliteInbox in a database of the merchant',
    'sqliteInbox',
    (options) => {
      const database = new Database(scratchFile());
      onTestFinished(() => void database.close());
      return sqliteInbox({ database }, options);
    },
  ],
];

describe.each(OPENING)('%s', (_, names, open) => {
  it.each(EPHEMERAL)('refuses on $name ($variables), and says what to do instead', (host) => {
    liveOn(host);

    const thrown = thrownBy(open);

    expect(thrown).toBeInstanceOf(InboxOpenError);
    expect(thrown).toMatchObject({ code: 'EPHEMERAL_HOST' });
    const { message } = thrown as InboxOpenError;
    for (const word of [names, host.name, 'hookbox/postgres', 'webhookVerifier', 'queue', 'ephemeral: true'])
      expect(message).toContain(word);
  });

  it.each(EPHEMERAL)('refuses on $name ($variables) when ephemeral is false', (host) => {
    liveOn(host);

    expect(thrownBy(() => open({ ephemeral: false }))).toMatchObject({ code: 'EPHEMERAL_HOST' });
  });

  it.each(EPHEMERAL)('opens on $name ($variables) with ephemeral: true, and takes events', async (host) => {
    liveOn(host);
    await using inbox = open({ ephemeral: true });

    await deliver(receiverOn(inbox, {}).receiver, 'stored');

    expect(await inbox.list()).toHaveLength(1);
  });

  it.each(LASTING.filter(({ userAgent }) => userAgent === undefined))('opens where $name', async (host) => {
    liveOn(host);
    await using inbox = open();

    expect(await inbox.list()).toEqual([]);
  });
});

it('sqliteInbox leaves no file behind where it refuses', () => {
  liveOn(HEROKU);
  const file = scratchFile();

  expect(() => sqliteInbox(file)).toThrow(InboxOpenError);

  expect(existsSync(file)).toBe(false);
});

describe('the mode of a receiver that was given none', () => {
  it.each(FROZEN)(
    'is inline on $name ($variables): the handler runs before the answer, without start()',
    async (host) => {
      liveOn(host);
      await using inbox = memoryInbox({ ephemeral: true });
      const { receiver, ran, log } = receiverOn(inbox);

      const id = await deliver(receiver, 'processed');

      expect(ran).toEqual([id]);
      expect(log).toEqual([]); // no reminder of start()
    },
  );

  it.each([HEROKU, { name: 'an ordinary machine', variables: {} }])(
    'is background on $name ($variables)',
    async (host) => {
      liveOn(host);
      await using inbox = memoryInbox({ ephemeral: true });
      const { receiver, ran } = receiverOn(inbox);

      const id = await deliver(receiver, 'stored');
      expect(ran).toEqual([]);
      await receiver.start();
      await expect.poll(() => ran).toEqual([id]);
      await receiver.close();
    },
  );

  it.each(FROZEN)('has start() do nothing on $name ($variables)', async (host) => {
    liveOn(host);
    await using inbox = memoryInbox({ ephemeral: true });
    await deliver(receiverOn(inbox, {}).receiver, 'stored');
    const claims = vi.spyOn(inbox, 'claim');
    const { receiver, ran } = receiverOn(inbox);

    await receiver.start();
    await deliver(receiver, 'processed'); // which would wake a processor
    await new Promise(setImmediate);

    expect(ran).toHaveLength(1);
    expect(claims).not.toHaveBeenCalled();
    await receiver.close();
  });

  it('leaves a receiver without handlers to store', async () => {
    liveOn({ name: 'AWS Lambda', variables: { AWS_LAMBDA_FUNCTION_NAME: 'orders' } });
    await using inbox = memoryInbox({ ephemeral: true });
    const { receiver, log } = receiverOn(inbox, {});

    await deliver(receiver, 'stored');

    expect(log).toEqual([]);
  });
});

describe('the mode that a receiver was given', () => {
  it.each(FROZEN)("stays 'background' on $name ($variables)", async (host) => {
    liveOn(host);
    await using inbox = memoryInbox({ ephemeral: true });
    const { receiver, ran } = receiverOn(inbox, { processing: { mode: 'background' } });

    const id = await deliver(receiver, 'stored');
    expect(ran).toEqual([]);
    await receiver.start();
    await expect.poll(() => ran).toEqual([id]);
    await receiver.close();
  });

  it.each([HEROKU, { name: 'an ordinary machine', variables: {} }])(
    "stays 'inline' on $name ($variables)",
    async (host) => {
      liveOn(host);
      await using inbox = memoryInbox({ ephemeral: true });
      const { receiver, ran } = receiverOn(inbox, { processing: { mode: 'inline' } });
      await receiver.start();

      const id = await deliver(receiver, 'processed');

      expect(ran).toEqual([id]);
      await receiver.close();
    },
  );
});

interface ReceiverOn {
  readonly receiver: Receiver;
  /** the ids of the events that reached the handler */
  readonly ran: readonly unknown[];
  readonly log: readonly LogLine[];
}

/** With one handler for everything unless only `{}` is given. */
function receiverOn(inbox: Inbox, options?: Partial<ReceiverOptions>): ReceiverOn {
  const { logger, lines } = recordedLog();
  const ran: unknown[] = [];
  const handlers: ReceiverOptions['handlers'] = { '*': async ({ id }) => void ran.push(id) };
  const stores = options !== undefined && Object.keys(options).length === 0;
  const receiver = createReceiver({ secret: SECRET, inbox, logger, ...(!stores && { handlers }), ...options });
  return { receiver, ran, log: lines };
}

/** Delivers a new event, which has to end as expected, and tells its id. */
async function deliver(receiver: Receiver, expected: 'stored' | 'processed'): Promise<string> {
  const { id, body, headers } = signedEvent();
  expect(await receiver.receive({ body, signature: headers[0]?.[1] })).toMatchObject({
    kind: expected,
    status: 200,
    id,
  });
  return id;
}

function thrownBy(open: () => unknown): unknown {
  try {
    return open();
  } catch (thrown) {
    return thrown;
  }
}
