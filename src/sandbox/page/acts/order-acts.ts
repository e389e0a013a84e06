import { fieldOf } from '../../../page/safety/posted-form.ts';
import { notFound } from '../../errors.ts';
import { ORDER_STATUSES } from '../../order-moves.ts';
import { FormError, type Act } from '../act.ts';

/** What is done with orders, their deliveries, and the stock. */
export const ORDER_ACTS: Readonly<Record<string, Act>> = {
  '/orders/:id/move': ({ sandbox, id, form }) => {
    const to = ORDER_STATUSES.find((status) => status === fieldOf(form, 'to'));
    if (to === undefined) throw new FormError('Select the next status of the order.');
    const order = sandbox.orders.find(id);
    if (order === null) throw notFound('order', id);
    // Cancelling an order that is new is another thing than cancelling one that is ready.
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

/** @throws FormError for anything but digits */
export function wholeOf(form: FormData, name: string): number {
  const text = fieldOf(form, name);
  if (!/^\d{1,15}$/.test(text)) throw new FormError(`${name} must be a whole number, 0 or more.`);
  return Number(text);
}
