import { PermanentError } from 'hookbox';

const TEXTS = {
  'order.confirmed': 'We have your order.',
  'order.ready': 'Your order is ready.',
  'order.cancelled': 'Your order was cancelled.',
};

/** Tells the customer, through a provider of messages that takes JSON; one that was told something newer already is left alone. */
async function tellCustomer(event, ctx) {
  if (ctx.superseded) return;
  const answer = await fetch(process.env.MESSAGES_URL, {
    method: 'POST',
    // A handler may run again after a crash: the provider knows by the event's id what it has sent.
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': event.id },
    body: JSON.stringify({ to: event.data.user_id, text: TEXTS[event.type], order: event.data.id }),
    signal: ctx.signal,
  });
  await answer.body?.cancel();
  if (answer.ok) return;
  const isOurFault = answer.status >= 400 && answer.status < 500 && answer.status !== 429;
  // What the provider will never take waits for an operator; the rest is tried again.
  const Failure = isOurFault ? PermanentError : Error;
  throw new Failure(`the provider of messages answers ${answer.status}`);
}

export const handlers = {
  'order.confirmed': tellCustomer,
  'order.ready': tellCustomer,
  'order.cancelled': tellCustomer,
  '*': () => {}, // all others are kept in the inbox, and shown
};
