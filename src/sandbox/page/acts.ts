import { messageOf, nameOf } from '../../errors.ts';
import { eventTypes, type EventType } from '../../events/event-types.ts';
import type { Logger } from '../../host/logger.ts';
import { fieldOf, valuesOf } from '../../page/safety/posted-form.ts';
import { FAULT_KINDS as DELIVERY_FAULT_KINDS } from '../../sender/faults.ts';
import { durationMs } from '../clock.ts';
import { notFound } from '../errors.ts';
import type { ServiceFault } from '../faults.ts';
import { ORDER_STATUSES } from '../resources.ts';
import { PERMISSIONS } from '../service-operations.ts';
import { FULFILLMENTS } from './by-hand-screens.tsx';
import { FormError, type Act } from './forms.ts';
import { createdKeyScreen } from './keys-screens.tsx';
import { newSecretScreen } from './webhooks-screens.tsx';
import { delay } from '../../host/real-timers.ts';

type Acts = Readonly<Record<string, Act>>;

export function sandboxActs(logger: Logger): Acts {
  return { ...ACCOUNT_ACTS, ...ORDER_ACTS, ...clockActs(logger) };
}

const ORDER_ACTS: Acts = {
  '/place-order': ({ sandbox, form }) => {
    const [locationId = '', productId = ''] = fieldOf(form, 'offer').split(' ');
    const fulfillment = FULFILLMENTS.find((one) => one === fieldOf(form, 'fulfillment'));
    if (fulfillment === undefined) throw new FormError('Select how the order is fulfilled.');
    const payment = fieldOf(form, 'payment');
    const id = sandbox.orders.place({
      locationId,
      productId,
      quantity: wholeOf(form, 'quantity'),
      fulfillment,
      customerName: fieldOf(form, 'customer').slice(0, MOST_NAME),
      ...(payment !== '' && { paymentMethodId: payment }),
    });
    const isDeclined = payment !== '' && sandbox.orders.find(id)?.isSubmitted === false;
    return { to: `/orders/${id}`, said: isDeclined ? 'placed-declined' : 'placed' };
  },

  '/send-event': ({ sandbox, form }) => {
    const id = sandbox.events.send({ type: fieldOf(form, 'type'), data: objectOf(fieldOf(form, 'data')) });
    return { to: '/deliveries', said: 'event-sent', figures: [sandbox.deliveries.list({ event: id }).length] };
  },

  '/orders/:id/move': ({ sandbox, id, form }) => {
    const to = ORDER_STATUSES.find((status) => status === fieldOf(form, 'to'));
    if (to === undefined) throw new FormError('Select the next status of the order.');
    const order = sandbox.orders.find(id);
    if (order === null) throw notFound('order', id);
    // To cancel a new order is not the same as to cancel one that is ready.
    if (order.status !== fieldOf(form, 'from')) {
      throw new FormError(`The status of the order has changed to ${order.status} since you opened the page.`, 409);
    }
    sandbox.orders.move(id, to);
    return { to: '/', said: 'moved' };
  },

  '/deliveries/:id{[0-9]{1,15}}/retry': ({ sandbox, id }) => {
    const number = Number(id);
    if (sandbox.deliveries.find(number) === null) throw notFound('delivery', id);
    const isRetried = sandbox.deliveries.retry(number);
    return { to: `/deliveries/${id}`, said: isRetried ? 'retrying' : 'not-retried' };
  },

  '/stock': ({ sandbox, form }) => {
    const quantity = wholeOf(form, 'quantity');
    sandbox.stock.set(fieldOf(form, 'location'), fieldOf(form, 'product'), quantity);
    return { to: '/stock', said: 'stock-set', figures: [quantity] };
  },
};

function objectOf(json: string): object {
  let data: unknown;
  try {
    data = JSON.parse(json);
  } catch (failure) {
    throw new FormError(`The data is not valid JSON: ${messageOf(failure)}.`);
  }
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data;
  throw new FormError('The data must be a JSON object, such as {"id": "1"}.');
}

function wholeOf(form: FormData, name: string): number {
  const text = fieldOf(form, name);
  if (!/^\d{1,15}$/.test(text)) throw new FormError(`${name} must be a whole number, 0 or more.`);
  return Number(text);
}

const ACCOUNT_ACTS: Acts = {
  '/keys': ({ sandbox, form }) => {
    const expires = fieldOf(form, 'expires');
    const chosen = valuesOf(form, 'permissions');
    const permissions = PERMISSIONS.filter((permission) => chosen.includes(permission));
    if (permissions.length === 0) throw new FormError('Select at least one permission.');
    const expiresAt = expires === '' ? null : new Date(sandbox.now().getTime() + durationMs(expires));
    const created = sandbox.keys.create({ name: fieldOf(form, 'name').slice(0, MOST_NAME), permissions, expiresAt });
    return { to: '/keys', said: 'key-made', once: (visit) => createdKeyScreen(visit, created) };
  },

  '/keys/:id/rotate': ({ sandbox, id }) => {
    const created = sandbox.keys.rotate(id);
    return { to: '/keys', said: 'key-made', once: (visit) => createdKeyScreen(visit, created) };
  },

  '/keys/:id/delete': ({ sandbox, id }) => {
    sandbox.keys.delete(id);
    return { to: '/keys', said: 'key-deleted' };
  },

  '/webhooks': ({ sandbox, form }) => {
    const signing = fieldOf(form, 'signing');
    const url = fieldOf(form, 'url');
    const events = eventsOf(form);
    const sent = form.get('secret');
    const own = typeof sent === 'string' ? sent : ''; // with its white space, which is part of the secret
    if (signing !== 'own' && own !== '') {
      throw new FormError('You entered a secret. Select “with your own secret”, or clear the field.');
    }
    if (signing === 'new') {
      const secret = sandbox.webhooks.newSecret();
      const id = sandbox.webhooks.add({ url, secret, events });
      return { to: '/webhooks', said: 'webhook-added', once: (visit) => newSecretScreen(visit, id, secret) };
    }
    if (signing !== 'own' && signing !== 'none') throw new FormError('Select how webhooks are signed.');
    sandbox.webhooks.add({ url, secret: signing === 'own' ? own : null, events });
    return { to: '/webhooks', said: 'webhook-added' };
  },

  '/webhooks/:id/change': ({ sandbox, id, form }) => {
    const url = fieldOf(form, 'url');
    if (!sandbox.webhooks.change(id, { events: eventsOf(form), ...(url !== '' && { url }) }))
      throw notFound('endpoint', id);
    return { to: `/webhooks/${id}`, said: 'webhook-changed' };
  },

  '/webhooks/:id/secret': ({ sandbox, id }) => {
    const secret = sandbox.webhooks.newSecret();
    if (!sandbox.webhooks.change(id, { secret })) throw notFound('endpoint', id);
    return { to: `/webhooks/${id}`, said: 'secret-made', once: (visit) => newSecretScreen(visit, id, secret) };
  },

  '/webhooks/:id/delete': ({ sandbox, id }) => {
    if (!sandbox.webhooks.remove(id)) throw notFound('endpoint', id);
    return { to: '/webhooks', said: 'webhook-removed' };
  },

  '/webhooks/:id/retry-dead': ({ sandbox, id }) => {
    return { to: '/deliveries', said: 'retrying-dead', figures: [sandbox.deliveries.retryDead(id)] };
  },
};

const MOST_NAME = 200;

/** `null` if all are chosen, which includes types of later versions. */
function eventsOf(form: FormData): readonly EventType[] | null {
  const chosen = valuesOf(form, 'events');
  const events = eventTypes.filter((type) => chosen.includes(type));
  if (events.length === 0) throw new FormError('Select at least one event type.');
  return events.length === eventTypes.length ? null : events;
}

const WAITED_MS = 3_000;

function clockActs(logger: Logger): Acts {
  return {
    '/clock/advance': async ({ sandbox, form }) => {
      const ms = durationMs(fieldOf(form, 'by'));
      const advancing = sandbox.advance(ms);
      const isDone = await Promise.race([advancing.then(() => true), delay(WAITED_MS, false, { ref: false })]);
      if (isDone) return { to: '/clock', said: 'advanced', figures: [ms] };
      advancing.catch((failure: unknown) => {
        logger.error({ error: nameOf(failure) }, 'the sandbox clock did not advance as far as requested');
      });
      return { to: '/clock', said: 'advancing' };
    },

    '/faults': ({ sandbox, form }) => {
      sandbox.faults.add(faultOf(form));
      return { to: '/faults', said: 'fault-added' };
    },

    '/faults/remove': ({ sandbox }) => {
      sandbox.faults.remove();
      sandbox.faults.removeFromDeliveries();
      return { to: '/faults', said: 'faults-ended' };
    },

    '/faults/:id/remove': ({ sandbox, id }) => {
      if (!sandbox.faults.list().some((fault) => fault.id === id)) throw new FormError(ENDED, 409);
      sandbox.faults.remove(id);
      return { to: '/faults', said: 'fault-ended' };
    },

    '/delivery-faults': ({ sandbox, form }) => {
      const kind = DELIVERY_FAULT_KINDS.find((one) => one === fieldOf(form, 'kind'));
      const times = wholeOf(form, 'times');
      if (kind === undefined || times === 0)
        throw new FormError('Select a fault, and enter how many times it occurs: 1 or more.');
      sandbox.faults.addToDeliveries(kind, times);
      return { to: '/faults', said: 'fault-added' };
    },

    '/delivery-faults/:id/remove': ({ sandbox, id }) => {
      if (!sandbox.faults.ofDeliveries().some((fault) => fault.id === id)) throw new FormError(ENDED, 409);
      sandbox.faults.removeFromDeliveries(id);
      return { to: '/faults', said: 'fault-ended' };
    },
  };
}

const ENDED = 'The fault is not active any more.';

/** The sandbox refuses fields that a kind does not take. */
function faultOf(form: FormData): ServiceFault {
  const text = (name: string) => {
    const value = fieldOf(form, name);
    return value !== '' && { [name]: value };
  };
  const whole = (name: string) => fieldOf(form, name) !== '' && { [name]: wholeOf(form, name) };
  const fault = {
    ...text('kind'),
    ...text('operation'),
    ...text('outcome'),
    ...whole('times'),
    ...whole('status'),
    ...whole('ms'),
  };
  return fault as ServiceFault;
}
