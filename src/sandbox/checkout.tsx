import type { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Logger } from '../host/logger.ts';
import type { Assumptions } from './assumptions.ts';
import { createOwnPage } from './own-page.ts';
import { completeSetupIntent, findSetupIntent, type SetupIntent } from './payments.ts';
import { CARDS, type PaymentOutcome } from './catalogue.ts';
import type { Store } from './store.ts';

const OUTCOMES = Object.keys(CARDS) as readonly PaymentOutcome[];

const MOST_BYTES = 10_000;

const WORDS: Readonly<Record<PaymentOutcome, string>> = {
  ok: 'the payment succeeds',
  declined: 'the payment is declined',
  insufficient_funds: 'the payment is declined, because funds are insufficient',
  expired: 'the payment is declined, because the card has expired',
};

/** The page of a setup intent (4.8, A11). Its address is the only secret. It never asks for a card number. */
export function createCheckout(store: Store, assumptions: Assumptions, logger: Logger): Hono {
  const app = createOwnPage(assumptions, logger, 'a checkout');

  app.get('/checkout/:id', (c) => {
    const intent = findSetupIntent(store, c.req.param('id'));
    return intent === null ? c.text('This checkout does not exist.', 404) : c.html(<CheckoutPage {...intent} />);
  });

  const limited = bodyLimit({
    maxSize: MOST_BYTES,
    onError: (c) => c.text('The request was not sent by a form on this page.', 413),
  });
  app.post('/checkout/:id', limited, async (c) => {
    const id = c.req.param('id');
    if (findSetupIntent(store, id) === null) return c.text('This checkout does not exist.', 404);
    const sent = await c.req.text().catch(() => '');
    const outcome = OUTCOMES.find((one) => one === new URLSearchParams(sent).get('outcome'));
    if (outcome === undefined) return c.text('Select a card.', 422);
    store.write((tx) => completeSetupIntent(tx, id, outcome));
    return c.redirect(new URL(c.req.url).pathname, 303);
  });

  return app;
}

function CheckoutPage({ merchantName, paymentMethodId }: SetupIntent) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Add a payment method</title>
      </head>
      <body>
        <main>
          <h1>Add a payment method for {merchantName}</h1>
          {paymentMethodId === null ? <CardForm /> : <Added id={paymentMethodId} />}
        </main>
      </body>
    </html>
  );
}

function CardForm() {
  return (
    <form method="post">
      <fieldset>
        <legend>Select a test card. The sandbox moves no money.</legend>
        {OUTCOMES.map((outcome, at) => (
          <p>
            <label>
              <input type="radio" name="outcome" value={outcome} checked={at === 0} /> {CARDS[outcome].brand} ending in{' '}
              {CARDS[outcome].last4}: {WORDS[outcome]}
            </label>
          </p>
        ))}
      </fieldset>
      <button>Add</button>
    </form>
  );
}

function Added({ id }: { readonly id: string }) {
  return (
    <p role="status">
      Added as <code>{id}</code>.
    </p>
  );
}
