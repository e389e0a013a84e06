import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { opsPage } from '../../page/operators-page.tsx';
import { namedInbox, shownInbox, type DbOptions } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { listen, stopListening } from '../shared/listen.ts';
import { tell } from '../shared/output.ts';
import { stopSignal, type StopSignal } from '../shared/interruption.ts';
import { accessOf, type CredentialOptions } from './credentials.ts';

/** What the arguments of `ui` say. */
export interface UiOptions extends DbOptions, CredentialOptions {
  readonly port: number;
  readonly mask?: readonly string[];
}

/**
 * Serves the page until a signal says to stop, and resolves with it.
 *
 * @throws CommandError when it cannot start
 */
export async function ui(options: UiOptions): Promise<StopSignal> {
  const { port, host, mask = [] } = options;
  const { page, note } = accessOf(options);
  await using inbox = await existingInbox(options);
  const app = opsPage({ inbox }, { ...page, mask, ...namedInbox(options) });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server; // of HTTP/1, because no other was asked for
  const stopped = stopSignal();
  try {
    const address = await listen(server, { port, portOption: '--port', host });
    tell(`hookbox shows ${shownInbox(options)} at http://${address}/`);
    tell(note);
    return await stopped;
  } finally {
    await stopListening(server);
  }
}
