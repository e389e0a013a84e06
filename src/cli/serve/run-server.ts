import { ConfigurationError } from '../../errors.ts';
import type { EventSchemas } from '../../events/own-events.ts';
import { isAboutAttempt } from '../../processing/attempt-log.ts';
import { handledTypes, type Handlers } from '../../processing/handlers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { consoleLogger, type Logger } from '../../host/logger.ts';
import { createReceiver, type Receiver } from '../../receive/receiver.ts';
import { shownInbox, type DbOptions } from '../shared/options.ts';
import { usageError, tell } from '../shared/output.ts';
import { stopSignal, type StopSignal } from '../shared/interruption.ts';
import { addressOf, listen, stopListening, type ListenOptions } from '../shared/listen.ts';
import { openInbox } from '../shared/inbox.ts';
import type { Forwarded } from './forward-request.ts';
import { createForwarder } from './forwarder.ts';
import { observedInbox } from './observed-inbox.ts';
import { isOwnAddress } from './own-address.ts';
import type { Output } from './outputs.ts';
import { reporter } from './print-serve-report.ts';
import { noteAcceptance, webhookServer } from './webhook-server.ts';

/** What `serve` is told. */
export interface ServeOptions extends ListenOptions, DbOptions {
  readonly path: string;
  /** `null` takes unsigned deliveries */
  readonly secret: string | null | undefined;
  readonly handlers?: Handlers;
  /** schemas of the user's own types */
  readonly events?: EventSchemas;
  readonly forwardTo?: URL;
  readonly output: Output;
  /** prints the stacks of what handlers throw */
  readonly verbose?: boolean;
}

const UNCHECKED =
  'hookbox does not check signatures, even if SIGNING_SECRET is set: with --unsafe-unsigned, it ' +
  'accepts deliveries from any sender.';

/**
 * Receives until a signal says to stop, and resolves with it once everything under way is answered and closed.
 *
 * @throws Error with a message for people when it cannot start
 */
export async function serve(options: ServeOptions): Promise<StopSignal> {
  const { path, secret, handlers = {}, forwardTo } = options;
  const stopped = stopSignal();
  const handled = handledTypes(handlers);
  const report = reporter(options.output, options.verbose ?? false);
  await using stored = await openInbox(options);
  await using receiver = receiverOf(observedInbox(stored, { accepted: noteAcceptance, attempted: report }), options);
  const forwarder = forwardTo === undefined ? null : createForwarder(forwardTo, report);
  const accepted = (delivery: Forwarded): void => forwarder?.forward(delivery);
  const server = webhookServer({ receiver, path, handled, delivered: report, accepted });
  try {
    const url = `http://${await listen(server, options)}${path}`;
    if (forwardTo !== undefined && isOwnAddress(forwardTo, addressOf(server))) {
      throw usageError(`${forwardTo.href} is this server. Pass the URL of another server with --forward-to.`);
    }
    if (handled.length > 0) await receiver.start();
    else tell('No handlers: hookbox stores events and does not handle them.');
    if (secret === null) tell(UNCHECKED);
    tell(`hookbox receives deliveries at ${url} and stores them in ${shownInbox(options)}`);
    return await stopped;
  } finally {
    await stopListening(server, async () => {
      await receiver.close();
      await forwarder?.close();
    });
  }
}

function receiverOf(inbox: Inbox, { secret, handlers = {}, events = {} }: ServeOptions): Receiver {
  try {
    return createReceiver({
      ...(secret === null ? { unsafeUnsigned: true } : { secret }),
      inbox,
      handlers,
      events,
      processing: { mode: 'background' },
      logger: notices,
    });
  } catch (failure) {
    throw failure instanceof ConfigurationError ? usageError(failure.message) : failure;
  }
}

/** What handlers log, and what concerns more than one delivery or event: those have lines of their own. */
const notices: Logger = { info: notice, warn: notice, error: notice };

function notice(facts: Readonly<Record<string, unknown>>, message: string): void {
  if (isAboutAttempt(message)) return;
  const isOfHandler = 'type' in facts;
  const hasItsLine = 'id' in facts || ('reason' in facts && !('cause' in facts));
  if (isOfHandler || !hasItsLine) consoleLogger.warn(facts, message);
}
