import { eventTypes, isEventType } from '../../events/event-types.ts';
import { plural, number } from '../../ops/words/format.ts';
import { hrefOf } from '../../page/parts/filter-fields.ts';
import { Field, SelectField } from '../../page/parts/form-fields.tsx';
import { LinkRow } from '../../page/parts/list-query.tsx';
import { Notice } from '../../page/parts/list-table.tsx';
import type { Screen } from '../../page/visit.ts';
import { EVENT_BODIES } from '../../testing/event-bodies.ts';
import { CARDS } from '../catalogue.ts';
import { PanelForm, sentInto, type SandboxVisit } from './parts.tsx';

const ONLY_OPERATORS = <Notice>Your role is viewer. Only operators can do this.</Notice>;

export function placeScreen(visit: SandboxVisit): Screen {
  const { sandbox, visitor } = visit;
  const sent = sentInto(visit, '/place-order');
  const offers = sandbox.stock.list();
  return {
    title: 'Place an order',
    current: '/',
    content:
      visitor.role === 'operator' ? (
        <PanelForm visit={visit} to="/place-order" label="Place an order" title="Order" submit="Place order">
          <SelectField
            label="Product"
            name="offer"
            value={sent?.('offer')[0]}
            options={offers.map(({ locationId, productId, productName, quantity }) => [
              `${locationId} ${productId}`,
              `${productName} at ${locationId} (${number(quantity)} in stock)`,
            ])}
          />
          <Field label="Quantity" type="number" name="quantity" min={1} value={sent?.('quantity')[0] ?? '1'} required />
          <SelectField
            label="Fulfillment"
            name="fulfillment"
            value={sent?.('fulfillment')[0]}
            options={FULFILLMENTS.map((one) => [one, one])}
          />
          <Field
            label="Customer"
            name="customer"
            value={sent?.('customer')[0] ?? 'Ada Byron'}
            maxlength={1_000}
            autocomplete="off"
          />
          <SelectField
            label="Payment"
            name="payment"
            value={sent?.('payment')[0]}
            options={[
              ...Object.keys(CARDS).map((outcome) => [`pm_${outcome}`, `Submit with pm_${outcome}`] as const),
              ['', 'Do not submit the order'],
            ]}
          />
        </PanelForm>
      ) : (
        ONLY_OPERATORS
      ),
  };
}

export const FULFILLMENTS = ['Pickup', 'Delivery', 'Shipping'] as const;

const OWN_TYPE = 'own';

export function sendScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, url, visitor } = visit;
  const sent = sentInto(visit, '/send-event');
  const chosen = url.searchParams.get('type') ?? eventTypes[0] ?? OWN_TYPE;
  const type = sent?.('type')[0] ?? (isEventType(chosen) ? chosen : '');
  const endpoints = sandbox.webhooks.list().length;
  return {
    title: 'Send an event',
    current: '/deliveries',
    content:
      visitor.role === 'operator' ? (
        <div class="with-types">
          <LinkRow
            kind="views"
            label="Event types"
            id="types"
            links={[...eventTypes, OWN_TYPE].map((one) => [
              hrefOf(`${base}/send-event`, [['type', one]]),
              one === OWN_TYPE ? 'Your own type' : one,
              one === (isEventType(type) ? type : OWN_TYPE),
            ])}
          />
          <PanelForm visit={visit} to="/send-event" label="Send an event" title="Event" submit="Send event">
            <Field
              label="Type"
              name="type"
              value={type}
              maxlength={255}
              placeholder="loyalty.earned"
              required
              autocomplete="off"
              spellcheck="false"
            />
            <label class="field">
              <span>Data (a JSON object)</span>
              <textarea name="data" rows={16} spellcheck={false} required>
                {sent?.('data')[0] ?? dataOf(visit, type)}
              </textarea>
            </label>
            <p class="muted">
              The sandbox adds the id and the time, signs the event, and sends it to the endpoints that receive its
              type. {endpoints === 0 ? 'No endpoint is registered.' : `${plural(endpoints, 'endpoint')} registered.`}
            </p>
          </PanelForm>
        </div>
      ) : (
        ONLY_OPERATORS
      ),
  };
}

/** An example, about the newest order if there is one. */
function dataOf({ sandbox }: SandboxVisit, type: string): string {
  if (!isEventType(type)) return '{\n  "id": "1"\n}';
  const { data } = JSON.parse(EVENT_BODIES[type]) as { readonly data: object };
  const [order] = type.startsWith('order.') ? sandbox.orders.list(1) : [];
  const about = order === undefined ? data : { ...data, id: order.id, total: order.total };
  return JSON.stringify(about, null, 2);
}
