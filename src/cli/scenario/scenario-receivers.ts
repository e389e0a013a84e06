import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { webhookHandler } from '../../../adapters/node.ts';
import { PermanentError } from '../../errors.ts';
import { delay, performance } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import { openConnection } from '../../inbox/sqlite/opening/better-sqlite.ts';
import { sqliteInbox } from '../../inbox/sqlite/sqlite-inbox.ts';
import { EVERYTHING } from '../../inbox/work.ts';
import { plural } from '../../ops/words/format.ts';
import type { Handlers } from '../../processing/handlers.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { createReceiver, type Receiver } from '../../receive/receiver.ts';
import type { DbOptions } from '../shared/options.ts';
import { existingInbox } from '../shared/inbox.ts';
import type { Progress } from '../shared/interruption.ts';
import { addressOf } from '../shared/listen.ts';
import { tell } from '../shared/output.ts';
import type { HandlerBehaviour, Scenario } from './scenario-file.ts';

export type EventFinding = Awaited<ReturnType<typeof findingOf>>;

export interface Findings {
  readonly events: readonly EventFinding[];
  readonly superseded: number | null;
}

export interface ScenarioReceiver extends AsyncDisposable {
  readonly url: URL;
  readonly secret: string;
  goDown(): Promise<void>;
  comeUp(): Promise<void>;
  reachable(): boolean;
  keepUp(): Promise<void>;
  known(ids: readonly string[]): Promise<number>;
  /**
   * Waits until the events are handled; `null` without an inbox.
   *
   * @param ids - the events to look for; the built-in receiver returns all of its events
   */
  findings(ids: readonly string[], progress: Progress): Promise<Findings | null>;
}

const PATIENCE_MS = 30_000;

interface Running {
  readonly inbox: Inbox;
  readonly receiver: Receiver;
  readonly server: Server;
}

const HOST = '127.0.0.1';

/** SQLite in a temporary file, and handlers that write a row per event. An outage stops server, handlers and inbox. */
export async function ownReceiver({ receiver: { handlers } }: Scenario): Promise<ScenarioReceiver> {
  const folder = mkdtempSync(join(tmpdir(), 'hookbox-scenario-'));
  const file = join(folder, 'inbox.db');
  const secret = randomBytes(24).toString('hex');
  const behaviours: Readonly<Record<string, HandlerBehaviour | undefined>> = handlers;
  let superseded = 0;
  const effects = openConnection(file);
  effects.exec('CREATE TABLE scenario_effects (event_id TEXT NOT NULL)');
  effects.close();
  const handle: NonNullable<Handlers['*']> = async (event, ctx) => {
    if (ctx.superseded) superseded += 1;
    const { failsFirst = 0, fails, takes = 0 } = behaviours[event.type] ?? behaviours['*'] ?? {};
    if (takes > 0) await delay(takes, undefined, { signal: ctx.signal });
    if (fails === 'always') throw new PermanentError('the scenario makes this run fail');
    if (ctx.attempt <= failsFirst) throw new Error('the scenario makes this run fail');
    await ctx.transaction((database) => {
      database.prepare('INSERT INTO scenario_effects (event_id) VALUES (?)').run(event.id);
    });
  };

  let running: Running | null = await start(0);
  const { port } = addressOf(running.server);

  async function start(port: number): Promise<Running> {
    const inbox = sqliteInbox(file, { thread: false });
    const receiver = createReceiver({
      secret,
      inbox,
      logger: false, // the report shows the errors
      handlers: { '*': handle },
      processing: { concurrency: 8, retry: { baseMs: 5, maxMs: 100 } },
    });
    await receiver.start();
    const webhook = webhookHandler(receiver);
    const server = createServer((request, response) => void webhook(request, response));
    await listen(server, port);
    return { inbox, receiver, server };
  }

  async function goDown(): Promise<void> {
    if (running === null) return;
    const { inbox, receiver, server } = running;
    running = null;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await receiver.close();
    await inbox.close();
  }

  return {
    url: new URL(`http://${HOST}:${port}/webhooks`),
    secret,
    goDown,
    async comeUp() {
      running ??= await start(port);
    },
    reachable: () => true,
    async keepUp() {
      const giveUpAt = performance.now() + PATIENCE_MS;
      for (;;) {
        const due = (await running?.inbox.nextDue(EVERYTHING)) ?? null;
        if (due === null || performance.now() > giveUpAt) return;
        await delay(1);
      }
    },
    known: () => Promise.resolve(0),
    async findings(_ids, progress) {
      running ??= await start(port);
      const { inbox } = running;
      const events = await whenSettled(() => allEvents(inbox), progress);
      const effects = effectsIn(file);
      const found = events.map((event) => findingOf(inbox, event, effects.get(event.id) ?? 0));
      return { events: await Promise.all(found), superseded };
    },
    async [Symbol.asyncDispose]() {
      await goDown();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function effectsIn(file: string): ReadonlyMap<string, number> {
  const database = openConnection(file, { readonly: true });
  const rows = database
    .prepare('SELECT event_id AS id, count(*) AS effects FROM scenario_effects GROUP BY event_id')
    .all() as readonly { readonly id: string; readonly effects: number }[];
  database.close();
  return new Map(rows.map(({ id, effects }) => [id, effects]));
}

/** A port may stay busy for a moment after its release. */
async function listen(server: Server, port: number): Promise<void> {
  for (let tries = 50; ; tries -= 1) {
    server.listen(port, HOST);
    try {
      await once(server, 'listening');
      return;
    } catch (failure) {
      if (tries === 0 || (failure as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw failure;
      await delay(100);
    }
  }
}

/** @throws CommandError without an inbox */
export async function remoteReceiver(
  url: URL,
  secret: string,
  endpoint: string,
  stored: DbOptions | null,
): Promise<ScenarioReceiver> {
  const inbox = stored === null ? null : await existingInbox(stored);
  let isDown = false;

  async function events(ids: readonly string[]): Promise<readonly StoredEvent[]> {
    const events = await Promise.all(ids.map(async (id) => (await inbox?.get({ endpoint, id })) ?? null));
    return events.filter((event) => event !== null);
  }

  return {
    url,
    secret,
    async goDown() {
      isDown = true;
    },
    async comeUp() {
      isDown = false;
    },
    reachable: () => !isDown,
    async keepUp() {},
    known: async (ids) => (await events(ids)).length,
    async findings(ids, progress) {
      if (inbox === null) return null;
      const stored = await events(ids);
      const waits = await operationsOf(inbox).waits(stored, Date.now());
      const unclaimed = new Set(stored.filter((_, n) => waits[n]?.reason === 'no processor').map(({ id }) => id));
      const isUntaken = ({ state, id }: StoredEvent): boolean =>
        state === 'ignored' || (state === 'pending' && unclaimed.has(id));
      const found = await whenSettled(() => events(ids), progress, isUntaken);
      const findings = found.map((event) => findingOf(inbox, event, null, isUntaken(event)));
      return { events: await Promise.all(findings), superseded: null };
    },
    async [Symbol.asyncDispose]() {
      await inbox?.close();
    },
  };
}

const PAGE = 500;

async function allEvents(inbox: Inbox): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.seq;
    const page = await inbox.list({ limit: PAGE, ...(after !== undefined && { after }) });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

/** @param isUntaken - whether no handler handles an event, so that waiting is useless */
async function whenSettled(
  read: () => Promise<readonly StoredEvent[]>,
  progress: Progress,
  isUntaken: (event: StoredEvent) => boolean = () => false,
): Promise<readonly StoredEvent[]> {
  const startedAt = performance.now();
  let isQuiet = true;
  for (;;) {
    const events = await read();
    const open = events.filter((event) => ['pending', 'processing'].includes(event.state) && !isUntaken(event));
    const waited = performance.now() - startedAt;
    if (open.length === 0 || waited > PATIENCE_MS) return events;
    if (isQuiet && waited > 2_000) {
      isQuiet = false;
      progress.above(() =>
        tell(`waiting up to ${PATIENCE_MS / 1_000} s for the handlers of ${plural(open.length, 'event')}`),
      );
    }
    await delay(20);
  }
}

async function findingOf(inbox: Inbox, event: StoredEvent, effects: number | null, isUntaken = false) {
  const attempts = await inbox.attempts(event);
  const { id, body, state, redeliveries, type } = event;
  return {
    id,
    body,
    state: state as string,
    redeliveries: redeliveries.count,
    /** attempts of its handler that succeeded */
    processed: attempts.filter(({ outcome }) => outcome === 'processed').length,
    /** rows that its handler has written; `null` if unknown */
    effects,
    /** `null` if a handler handles it */
    untakenType: isUntaken ? type : null,
  };
}
