import type * as hookbox from '../../src/index.ts';
import type { Handlers, Inbox, Receiver, ReceiverOptions, StoredEvent } from '../../src/index.ts';
import type { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import type {
  Controls,
  Failure,
  HandlerSetup,
  InboxSetup,
  ReceiverSetup,
  SecretSetup,
  SeenEvent,
  Tally,
} from './receiver-setup.ts';

/** From the sources, or as a merchant imports them. */
export interface HookboxParts extends Pick<typeof hookbox, 'createReceiver' | 'InboxUnavailableError'> {
  readonly memoryInbox: typeof memoryInbox;
  /** Some runtimes have no files. */
  readonly sqliteInbox?: typeof sqliteInbox;
}

export interface ReceiverUnderTest {
  readonly receiver: Pick<Receiver, 'receive'>;
  readonly controls: Controls;
}

/** Uses nothing that only some runtimes have. */
export function receiverUnderTest(parts: HookboxParts, setup: ReceiverSetup): ReceiverUnderTest {
  const { logger, lines } = recordedLog();
  const fault: Fault = { gone: false, waiting: new Set() };
  const inbox = inboxOf(parts, setup.inbox, fault);
  let deliveries = 0;
  const traces: Tally['traces'][number][] = [];
  let handlerRuns = 0;
  const receiver = parts.createReceiver({
    ...limitsOf(setup),
    ...secretOf(setup),
    inbox,
    logger,
    ...(setup.handler && {
      processing: { mode: 'inline' },
      handlers: handlersOf(setup.handler, fault, () => {
        handlerRuns += 1;
      }),
    }),
  });

  return {
    receiver: {
      receive(delivery) {
        deliveries += 1;
        const { header = () => null } = delivery;
        traces.push([header('traceparent') ?? null, header('tracestate') ?? null]);
        return receiver.receive(delivery);
      },
    },
    controls: {
      events: async () => (await inbox.list()).map(seen),
      log: async () => lines,
      tally: async () => ({ deliveries, traces, handlerRuns, prototypeKeys: Object.keys(Object.prototype) }),
      heal: async () => heal(fault),
      closeReceiver: () => receiver.close(),
      async dispose() {
        heal(fault);
        await inbox.close();
      },
    },
  };
}

interface Fault {
  gone: boolean;
  /** A promise for each handler, because workerd ties a promise to a request. */
  readonly waiting: Set<() => void>;
}

function heal(fault: Fault): void {
  fault.gone = true;
  for (const go of fault.waiting) go();
}

function limitsOf({ maxBodyBytes, deadlineMs }: ReceiverSetup): Pick<ReceiverOptions, 'maxBodyBytes' | 'deadlineMs'> {
  return { ...(maxBodyBytes !== undefined && { maxBodyBytes }), ...(deadlineMs !== undefined && { deadlineMs }) };
}

function secretOf({ secret, unsafeUnsigned }: ReceiverSetup): Pick<ReceiverOptions, 'secret' | 'unsafeUnsigned'> {
  if (unsafeUnsigned === true) return { unsafeUnsigned };
  if (secret === undefined) throw new TypeError('a setup without a secret');
  return { secret: providedOrNot(secret) };
}

function providedOrNot(secret: SecretSetup): ReceiverOptions['secret'] {
  if ('failsWith' in secret) return () => Promise.reject(new Error(secret.failsWith));
  if (!('of' in secret)) return secret;
  return async () => {
    await after(secret.takesMs);
    return secret.of;
  };
}

function inboxOf(parts: HookboxParts, setup: InboxSetup | undefined, fault: Fault): Inbox {
  if (setup !== undefined && 'file' in setup) {
    if (parts.sqliteInbox === undefined) throw new TypeError('there is no SQLite on this runtime');
    return parts.sqliteInbox(setup.file, setup.thread === undefined ? {} : { thread: setup.thread });
  }
  const healthy = parts.memoryInbox({ ephemeral: true });
  if (setup === undefined) return healthy;
  const faulty: Inbox['accept'] = async (...given) => {
    if (fault.gone) return healthy.accept(...given);
    if ('failsWith' in setup) throw failureOf(parts, setup);
    if ('hangs' in setup) return new Promise(() => {});
    await after(setup.takesMs);
    return healthy.accept(...given);
  };
  return { ...healthy, accept: faulty };
}

function failureOf({ InboxUnavailableError }: HookboxParts, { code, failsWith }: Extract<InboxSetup, Failure>): Error {
  return code === 'UNFORESEEN' ? new TypeError(failsWith) : new InboxUnavailableError(code, failsWith);
}

function handlersOf(setup: HandlerSetup, fault: Fault, onRun: () => void): Handlers {
  return {
    '*': async () => {
      onRun();
      if (fault.gone || setup === 'succeeds') return;
      if (setup === 'throws') throw new Error('the handler of the setup throws');
      await new Promise<void>((resolve) => {
        fault.waiting.add(resolve);
      });
    },
  };
}

function seen({
  endpoint,
  id,
  type,
  verified,
  state,
  deadReason,
  body,
  redeliveries,
  conflict,
}: StoredEvent): SeenEvent {
  return {
    endpoint,
    id,
    type,
    verified,
    state,
    deadReason,
    body: body && base64(body),
    redeliveries: redeliveries.count,
    conflict: conflict && base64(conflict.body),
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
