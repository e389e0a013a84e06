import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { delay, performance } from '../../host/real-timers.ts';
import { webhookHandler } from '../../../adapters/node.ts';
import { PermanentError } from '../../errors.ts';
import type { Handlers } from '../../processing/handlers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { openConnection } from '../../inbox/sqlite/opening/better-sqlite.ts';
import { sqliteInbox } from '../../inbox/sqlite/sqlite-inbox.ts';
import { EVERYTHING } from '../../inbox/work.ts';
import { createReceiver, type Receiver } from '../../receive/receiver.ts';
import { allEvents, eventFinding, whenSettled } from './inbox-findings.ts';
import { PATIENCE_MS, type Findings, type ScenarioReceiver } from './scenario-receiver.ts';
import type { HandlerBehaviour, Scenario } from './scenario-schema.ts';

interface Running {
  readonly inbox: Inbox;
  readonly receiver: Receiver;
  readonly server: Server;
}

const HOST = '127.0.0.1';

/**
 * A receiver in this process: SQLite in a temporary file, and handlers that write a row for each event. When it is down,
 * all of it is: its server, its handlers and its inbox.
 */
export async function ownReceiver({ receiver: { handlers } }: Scenario): Promise<ScenarioReceiver> {
  const folder = mkdtempSync(join(tmpdir(), 'hookbox-scenario-'));
  const file = join(folder, 'inbox.db');
  const secret = randomBytes(24).toString('hex');
  const counted = { runs: 0, superseded: 0 };
  createEffects(file);
  let running: Running | null = await start(0);
  const { port } = running.server.address() as AddressInfo; // of a server that listens on TCP

  async function start(port: number): Promise<Running> {
    const inbox = sqliteInbox(file, { thread: false });
    const receiver = createReceiver({
      secret,
      inbox,
      logger: false, // the report tells what happened
      handlers: { '*': handlerOf(handlers, counted) },
      processing: { concurrency: 8, retry: { baseMs: 5, maxMs: 100 } },
    });
    await receiver.start();
    const handle = webhookHandler(receiver);
    const server = createServer((request, response) => void handle(request, response));
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
    async findings(_ids, onWait): Promise<Findings> {
      running ??= await start(port);
      const { inbox } = running;
      const events = await whenSettled(() => allEvents(inbox), onWait);
      const effects = effectsIn(file);
      const found = events.map((event) => eventFinding(inbox, event, { effects: effects.get(event.id) ?? 0 }));
      return { events: await Promise.all(found), ...counted };
    },
    async [Symbol.asyncDispose]() {
      await goDown();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function handlerOf(
  behaviours: Scenario['receiver']['handlers'],
  counted: { runs: number; superseded: number },
): NonNullable<Handlers['*']> {
  const behaviourOf: Readonly<Record<string, HandlerBehaviour | undefined>> = behaviours;
  return async (event, ctx) => {
    counted.runs += 1;
    if (ctx.superseded) counted.superseded += 1;
    const { failsFirst = 0, fails, takes = 0 } = behaviourOf[event.type] ?? behaviourOf['*'] ?? {};
    if (takes > 0) await delay(takes, undefined, { signal: ctx.signal });
    if (fails === 'always') throw new PermanentError('the scenario makes this run fail');
    if (ctx.attempt <= failsFirst) throw new Error('the scenario makes this run fail');
    await ctx.transaction((database) => {
      database.prepare('INSERT INTO scenario_effects (event_id) VALUES (?)').run(event.id);
    });
  };
}

function createEffects(file: string): void {
  const database = openConnection(file);
  database.exec('CREATE TABLE scenario_effects (event_id TEXT NOT NULL)');
  database.close();
}

/** How many rows each event has. */
function effectsIn(file: string): ReadonlyMap<string, number> {
  const database = openConnection(file, { readonly: true });
  const rows = database
    .prepare('SELECT event_id AS id, count(*) AS effects FROM scenario_effects GROUP BY event_id')
    .all() as readonly { readonly id: string; readonly effects: number }[]; // the columns of the statement
  database.close();
  return new Map(rows.map(({ id, effects }) => [id, effects]));
}

/** The port may be taken for a moment when it was given back. */
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
