/**
 * The adapter for Fastify 5.
 *
 * @module
 */
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { createVerifier, isErrorOutcome, type Outcome, type Receiver, type VerifierOptions } from '../src/index.ts';
import type { Page } from '../src/page/mounting.ts';
import { answerHeaders, deliveryOf, verifiedWebhook, type VerifiedWebhook } from './node-exchange.ts';
import { nodePage } from './node-page.ts';
import { endStream } from './read-node-body.ts';

declare module 'fastify' {
  interface FastifyRequest extends Partial<VerifiedWebhook> {}
}

const FIX =
  'another hook read the body first. Keep the raw body as request.rawBody, or register hookbox outside the scope ' +
  'of that hook.';

/**
 * A plugin that receives deliveries at its prefix. The content-type parser of the plugin applies only to that prefix.
 *
 * @example
 * ```ts
 * import fastify from 'fastify';
 * import { createReceiver } from 'hookbox';
 * import { webhookHandler } from 'hookbox/fastify';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * const app = fastify();
 * const receiver = createReceiver({ secret: 'a signing secret', inbox: memoryInbox() });
 * await app.register(webhookHandler(receiver), { prefix: '/webhooks' });
 * ```
 */
export function webhookHandler(receiver: Pick<Receiver, 'receive'>): FastifyPluginAsync {
  return async (app) => {
    leaveBodiesUnread(app);
    // Fastify would reject a malformed type; the signature alone decides.
    app.addHook('onRequest', async ({ raw }) => void delete raw.headers['content-type']);
    app.all('/', async (request, reply) => answer(reply, await receiver.receive(fastifyDelivery(request))));
  };
}

/**
 * A plugin that passes only authentic events to the routes in its scope. The event is in `request.webhookEvent`, and
 * its body is in `request.webhookBody`. The plugin neither stores nor deduplicates events.
 *
 * @throws ConfigurationError `UNUSABLE_SECRET` or `INVALID_OPTION`
 * @example
 * ```ts
 * import fastify from 'fastify';
 * import { webhookVerifier } from 'hookbox/fastify';
 *
 * const app = fastify();
 * await app.register(async (scope) => {
 *   await scope.register(webhookVerifier({ secret: 'a signing secret' }));
 *   scope.post('/webhooks', async (request) => ({ received: true, type: request.webhookEvent?.type }));
 * });
 * ```
 */
export function webhookVerifier(options: VerifierOptions): FastifyPluginAsync {
  const verifier = createVerifier(options);
  const plugin: FastifyPluginAsync = async (app) => {
    leaveBodiesUnread(app);
    if (!app.hasRequestDecorator('webhookEvent')) {
      app.decorateRequest('webhookEvent', undefined);
      app.decorateRequest('webhookBody', undefined);
      app.decorateRequest('webhookSignature', undefined);
    }
    app.addHook('preHandler', async (request, reply) => {
      const verified = await verifier.verify(fastifyDelivery(request));
      if (isErrorOutcome(verified)) return answer(reply, verified);
      Object.assign(request, verifiedWebhook(verified));
      return undefined;
    });
  };
  // Fastify's name for a plugin that belongs to the scope of its caller.
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true });
}

/**
 * A plugin that mounts a hookbox page, such as the operators' page, under the plugin's prefix. The responses of the
 * page include headers that earlier hooks have set, but `onSend` hooks do not run for these responses.
 *
 * @param page - a page that `opsPage` or `sandboxPage` returned
 * @example
 * ```ts
 * import fastify from 'fastify';
 * import { pageHandler } from 'hookbox/fastify';
 * import { opsPage } from 'hookbox/ops/page';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('hookbox.db');
 * const page = opsPage({ inbox }, { authorize: () => ({ role: 'viewer', name: 'ada' }) });
 * const app = fastify();
 * await app.register(pageHandler(page), { prefix: '/ops' });
 * await app.close();
 * await inbox.close();
 * ```
 */
export function pageHandler(page: Page): FastifyPluginAsync {
  return async (app) => {
    leaveBodiesUnread(app);
    const show = nodePage(page, () => app.prefix);
    const answerAlone = async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<void> => {
      reply.hijack();
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value);
      }
      await show(raw, reply.raw);
    };
    app.all('/', answerAlone);
    app.all('/*', answerAlone);
  };
}

function leaveBodiesUnread(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

function fastifyDelivery(request: FastifyRequest): ReturnType<typeof deliveryOf> {
  const { rawBody } = request as FastifyRequest & { readonly rawBody?: unknown };
  return { ...deliveryOf(request.raw, FIX, { rawBody }), source: () => request.ip };
}

/** As bytes: to a text Fastify would add a charset, which JSON does not have. */
function answer(reply: FastifyReply, { status, headers, body }: Outcome): FastifyReply {
  endStream(reply.request.raw);
  return reply
    .code(status)
    .headers(answerHeaders(reply.request.raw, headers))
    .send(Buffer.from(JSON.stringify(body)));
}
