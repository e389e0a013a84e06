import { Hono } from 'hono';
import { createReceiver, type Handlers, type Receiver } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { opsPage } from 'hookbox/ops/page';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { serveApp } from '../adapters/served-app.ts';
import { SECRET, signed } from '../helpers/signed-event.ts';
import { ownFolder } from '../helpers/scratch-folder.ts';

export const OPERATOR = { username: 'ada', password: 'the password of an operator' };
/** An operator whose password is guessed, and who is refused then. */
export const GUESSED = { username: 'grace', password: 'the password of another operator' };
export const VIEWER = { username: 'vic', password: 'the password of a viewer' };

export interface OpsSite extends AsyncDisposable {
  readonly origin: string;
  readonly inbox: Inbox;
  readonly receiver: Receiver;
  readonly deliver: (body: Uint8Array | string) => Promise<void>;
  readonly handled: () => Promise<void>;
}

export interface OpsSiteOptions {
  readonly handlers: Handlers;
}

export async function opsSite({ handlers }: OpsSiteOptions): Promise<OpsSite> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(ownFolder());
  const inbox = opened.use(sqliteInbox(`${folder.path}/shop.db`));
  const { logger } = recordedLog();
  const processing = { retry: { attempts: 1 } };
  const receiver = opened.use(createReceiver({ secret: SECRET, inbox, handlers, logger, processing }));

  const app = new Hono();
  app.post('/webhooks', webhookHandler(receiver));
  const basic = [
    { user: OPERATOR.username, password: OPERATOR.password, role: 'operator' as const },
    { user: GUESSED.username, password: GUESSED.password, role: 'operator' as const },
    { user: VIEWER.username, password: VIEWER.password, role: 'viewer' as const },
  ];
  app.route('/ops', opsPage(receiver, { basic, hosts: ['127.0.0.1', 'localhost'], replay: { secret: SECRET } }));
  const served = opened.use(await serveApp(app));
  const kept = opened.move();

  return {
    origin: new URL(served.url).origin,
    inbox,
    receiver,
    async deliver(bytes) {
      const { body, headers } = signed(bytes);
      const answer = await fetch(served.url, {
        method: 'POST',
        body: Uint8Array.from(body),
        headers: Object.fromEntries(headers),
      });
      if (!answer.ok) throw new Error(`not delivered: ${answer.status} ${await answer.text()}`);
    },
    async handled() {
      while ((await inbox.nextDue({ endpoints: '*', types: '*' })) !== null)
        await new Promise((resolve) => setTimeout(resolve, 10));
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
