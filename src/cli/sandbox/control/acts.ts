import { z } from 'zod';
import type { Delivery, EventByHand, NewKey, OrderStatus, Sandbox } from '../../../sandbox/index.ts';
import { CommandError, EXIT } from '../../shared/output.ts';
import { addFault, OF_DELIVERIES } from '../fault-text.ts';
import { registerEndpoint } from '../register-endpoint.ts';
import { LISTS } from './address.ts';

/** What is sent to a running sandbox to have it do something. */
export const actSchema = z.discriminatedUnion('act', [
  z.strictObject({ act: z.literal('advance'), duration: z.string() }),
  z.strictObject({ act: z.literal('retry'), delivery: z.int() }),
  z.strictObject({ act: z.literal('fault'), fault: z.string() }),
  z.strictObject({ act: z.literal('clear-faults') }),
  z.strictObject({ act: z.literal('move'), order: z.string(), to: z.string() }),
  z.strictObject({ act: z.literal('webhook'), url: z.string(), secret: z.string().nullable(), unsigned: z.boolean() }),
  z.strictObject({ act: z.literal('unhook'), url: z.string() }),
  z.strictObject({ act: z.literal('key'), permissions: z.array(z.string()) }),
  z.strictObject({ act: z.literal('send'), type: z.string(), data: z.record(z.string(), z.unknown()) }),
  z.strictObject({ act: z.literal('under-way') }),
  z.strictObject({ act: z.literal('list'), what: z.enum(LISTS) }),
]);

/** One of them. */
export type Act = z.infer<typeof actSchema>;

/**
 * Does it, and resolves with what came of it.
 *
 * @throws ConfigurationError, ApiError or CommandError for what cannot be done
 */
export async function perform(sandbox: Sandbox, act: Act): Promise<unknown> {
  switch (act.act) {
    case 'advance':
      await sandbox.advance(act.duration);
      return { now: sandbox.now() };
    case 'retry':
      return retry(sandbox, act.delivery);
    case 'fault':
      addFault(sandbox, act.fault);
      return listed(sandbox, 'faults');
    case 'clear-faults':
      sandbox.faults.remove();
      sandbox.faults.removeFromDeliveries();
      return [];
    case 'move':
      sandbox.orders.move(act.order, act.to as OrderStatus); // which checks it
      return { order: act.order, status: act.to };
    case 'webhook': {
      const signing = act.unsigned ? 'unsigned' : act.secret === null ? 'as it comes' : { secret: act.secret };
      return registerEndpoint(sandbox, new URL(act.url), signing, { renew: true });
    }
    case 'unhook': {
      // The dashboard registers an address as often as it is asked to.
      const known = sandbox.webhooks.list().filter(({ url }) => url === act.url);
      if (known.length === 0) throw new CommandError(`The sandbox has no endpoint ${act.url}.`, EXIT.notFound);
      return known.map(({ id }) => sandbox.webhooks.remove(id));
    }
    case 'key':
      return sandbox.keys.create(act.permissions.length === 0 ? {} : (act as NewKey)); // which checks them
    case 'send':
      return send(sandbox, act);
    case 'under-way':
      return underWay(sandbox);
    case 'list':
      return listed(sandbox, act.what);
    default:
      return act satisfies never;
  }
}

/** An event that was sent by hand. */
export interface SentByHand {
  readonly event: string;
  readonly type: string;
  /** to how many endpoints */
  readonly deliveries: number;
  /** whether somebody has to move the clock first */
  readonly waits: boolean;
}

function send({ events, deliveries, clock }: Sandbox, { type, data }: EventByHand): SentByHand {
  const before = deliveries.list({ limit: 1 })[0]?.id ?? 0;
  const event = events.send({ type, data });
  const made = (deliveries.list({ limit: 1 })[0]?.id ?? 0) - before;
  return { event, type, deliveries: made, waits: clock.kind === 'frozen' && made > 0 };
}

/** A try that waits for its answer. */
export interface UnderWay {
  readonly delivery: number;
  readonly number: number;
  readonly event: string;
  readonly type: string;
  /** `null` for a receiver in code */
  readonly url: string | null;
}

function underWay({ deliveries, webhooks }: Sandbox): readonly UnderWay[] {
  const urls = new Map(webhooks.list().map(({ id, url }) => [id, url]));
  return deliveries.underWay().map(({ id, tries, event, endpoint }) => ({
    delivery: id,
    number: tries + 1,
    event: event.id,
    type: event.type,
    url: urls.get(endpoint) ?? null,
  }));
}

/** What became of a delivery that was to be tried once more. */
export interface Retried {
  readonly delivery: number;
  /** `null` where there is none */
  readonly state: Delivery['state'] | null;
  /** why it was not tried, or has failed; `null` for success */
  readonly problem: string | null;
}

/** Waits for the answer; a clock that stands still is told to do what is due now. */
async function retry({ deliveries, advance }: Sandbox, delivery: number): Promise<Retried> {
  const find = () => deliveries.list({ before: delivery + 1, limit: 1 }).find(({ id }) => id === delivery);
  const before = find();
  if (before === undefined) return { delivery, state: null, problem: 'the delivery does not exist' };
  if (!deliveries.retry(delivery)) {
    return {
      delivery,
      state: before.state,
      problem: 'only failed deliveries can be retried',
    };
  }
  await advance(0);
  return { delivery, state: find()?.state ?? null, problem: deliveries.tries(delivery).at(-1)?.why ?? null };
}

function listed(sandbox: Sandbox, what: (typeof LISTS)[number]): readonly unknown[] {
  switch (what) {
    case 'deliveries':
      return sandbox.deliveries.list();
    case 'dead-letters':
      return sandbox.deliveries.list({ state: 'dead' });
    case 'orders':
      return sandbox.orders.list();
    case 'webhooks':
      return sandbox.webhooks.list();
    case 'keys':
      return sandbox.keys.list();
    case 'faults':
      return [
        ...sandbox.faults.list(),
        ...sandbox.faults.ofDeliveries().map((fault) => ({ ...fault, kind: OF_DELIVERIES + fault.kind })),
      ];
    case 'stock':
      return sandbox.stock.list();
    default:
      return what satisfies never;
  }
}
