// @module-tag long
// @module-tag dear
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { webhookHandler as expressHandler } from '../../adapters/express.ts';
import { webhookHandler as fastifyPlugin } from '../../adapters/fastify.ts';
import { webhookHandler as fetchHandler } from '../../adapters/fetch.ts';
import { webhookHandler as honoHandler } from '../../adapters/hono.ts';
import { webhookHandler as nodeHandler } from '../../adapters/node.ts';
import { checkEndpoint } from '../../src/cli/check/check-endpoint.ts';
import { probeNames } from '../../src/cli/check/probe-names.ts';
import { createReceiver, type Receiver } from '../../src/index.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { SECRET } from './checking.ts';
import { listening, type Listening } from '../cli/listening.ts';

type Mount = (receiver: Receiver) => Promise<Listening>;

const ADAPTERS: Readonly<Record<string, Mount>> = {
  hono: (receiver) => listening(getRequestListener(new Hono().all('/webhooks', honoHandler(receiver)).fetch)),
  node: (receiver) => listening(nodeHandler(receiver)),
  express: (receiver) => listening(express().all('/webhooks', expressHandler(receiver))),
  fetch: (receiver) => listening(getRequestListener(fetchHandler(receiver))),
  async fastify(receiver) {
    const app = fastify({ forceCloseConnections: true });
    await app.register(fastifyPlugin(receiver), { prefix: '/webhooks' });
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    return { url: `${origin}/webhooks`, close: () => app.close() };
  },
};

describe('a check of hookbox', () => {
  it.each(Object.keys(ADAPTERS))('gives full marks through hookbox/%s', async (name) => {
    await using inbox = sqliteInbox(scratchFile());
    await using receiver = createReceiver({ secret: SECRET, inbox, logger: recordedLog().logger });
    const { url, close } = await (ADAPTERS[name] as Mount)(receiver);
    try {
      const report = await checkEndpoint(url, { secret: SECRET });

      expect(report.probes.flatMap(({ findings }) => findings)).toEqual([]);
      expect(report.probes.map((probe) => probe.name)).toEqual(probeNames);
      expect(report).toMatchObject({
        full: true,
        interrupted: false,
        marks: { passed: probeNames.length, judged: probeNames.length, probes: probeNames.length },
      });
      const stored = await inbox.list({ limit: 1_000 });
      expect(stored.length).toBeGreaterThan(50);
      expect(stored.filter(({ id }) => !id.startsWith(report.ids))).toEqual([]);
    } finally {
      await close();
    }
  });

  it.each(['background', 'inline'] as const)(
    'gives full marks to handlers that run %s, by their effects',
    async (mode) => {
      const runs = new Map<string, number>();
      await using inbox = sqliteInbox(scratchFile());
      await using receiver = createReceiver({
        secret: SECRET,
        inbox,
        logger: recordedLog().logger,
        handlers: { '*': ({ id }) => void runs.set(id, (runs.get(id) ?? 0) + 1) },
        processing: { mode },
      });
      if (mode === 'background') await receiver.start();
      const handler = nodeHandler(receiver);
      const { url, close } = await listening((request, response) => {
        const [, id] = /^\/effects\/(.+)$/.exec(request.url ?? '') ?? [];
        if (id === undefined) return void handler(request, response);
        void inbox.get({ endpoint: 'default', id }).then((event) => {
          response.end(String(Math.max(runs.get(id) ?? 0, event === null ? 0 : 1)));
        });
      });
      try {
        const effects = `${new URL(url).origin}/effects/{id}`;
        const report = await checkEndpoint(url, { secret: SECRET, effects, settleMs: 500 });

        expect(report.probes.flatMap(({ findings }) => findings)).toEqual([]);
        expect(report.full).toBe(true);
        expect(report.probes.find(({ name }) => name === 'duplicates')?.note).toBe('judged by --effects');
      } finally {
        await close();
      }
    },
  );
});
