import { oneLine } from '../../printable.ts';
import { number } from '../../ops/words/format.ts';
import { Copyable, Listed, ShortTime, StoredText, Time } from '../../page/parts/text.tsx';
import type { Screen } from '../../page/visit.ts';
import { PLACE_ORDER, unbrokenCurlLine } from '../openapi/example-requests.ts';
import type { OrderRecord, OrderSummary } from '../orders.ts';
import { ORDER_STATUSES, type OrderStatus } from '../resources.ts';
import { bodyPanel, moveButtons, pageOfSome, StateBadge, type SandboxVisit } from './parts.tsx';
import { DataTable, Facts, Panel } from '../../page/parts/list-table.tsx';

/** Orders of one status that the board shows; the list of orders has the rest. */
const MOST_CARDS = 10;

export function boardScreen(visit: SandboxVisit): Screen {
  const { sandbox, service } = visit;
  const counts = sandbox.orders.counts();
  const isEmpty = ORDER_STATUSES.every((status) => counts[status] === 0);
  return {
    title: 'Orders',
    current: '/',
    content: (
      <div id="live">
        {tilesOf(visit)}
        {isEmpty && (
          <section class="panel" id="none">
            <p>No orders yet. Press “Place an order”, or create an API key, set the variable KEY to it, and run:</p>
            <Copyable text={unbrokenCurlLine(service, PLACE_ORDER)} />
            <p>
              After payment, the status of the order changes as the clock advances.{' '}
              <a href={`${service}/interface`}>The interface</a> shows a command for every operation.
            </p>
          </section>
        )}
        <div class="board">{ORDER_STATUSES.map((status) => laneOf(visit, status, counts[status]))}</div>
      </div>
    ),
  };
}

function tilesOf({ sandbox, base }: SandboxVisit) {
  const { waiting, dead } = sandbox.deliveries.counts();
  const tiles = [
    ['/deliveries?state=waiting', 'Waiting deliveries', number(waiting)],
    ['/deliveries?state=dead', 'Dead letters', number(dead)],
    ['/webhooks', 'Endpoints', number(sandbox.webhooks.list().length)],
  ] as const;
  return (
    <ul class="tiles">
      {tiles.map(([path, name, figure]) => (
        <li class="tile">
          <a href={`${base}${path}`}>
            <span class="figure">{figure}</span>
            <span class="name">{name}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function laneOf(visit: SandboxVisit, status: OrderStatus, count: number) {
  const orders = visit.sandbox.orders.list(MOST_CARDS, { status });
  return (
    <section class="lane" id={`lane-${status}`} aria-labelledby={`lane-${status}-name`}>
      <h2 id={`lane-${status}-name`}>
        <StateBadge state={status} /> <span class="muted">{number(count)}</span>
      </h2>
      <ul class="cards">{orders.map((order) => cardOf(visit, order))}</ul>
      {count > orders.length && (
        <p>
          <a href={`${visit.base}/orders?status=${status}`}>
            All {number(count)} {status}
          </a>
        </p>
      )}
    </section>
  );
}

function cardOf(visit: SandboxVisit, order: OrderSummary) {
  const { id, total, customerName, isSubmitted, status, updatedAt } = order;
  return (
    <li class="card" id={`card-${id}`}>
      <p>
        <a href={`${visit.base}/orders/${id}`} aria-label={id}>
          <Listed text={id} atMost={60} />
        </a>
      </p>
      <p>
        <strong>{usd(total)}</strong> {customerName !== '' && <StoredText text={customerName} atMost={60} />}
      </p>
      <p class="muted">
        <ShortTime at={updatedAt} now={visit.now} />
        {status === 'created' && (isSubmitted ? ' · submitted' : ' · not submitted')}
      </p>
      {moveButtons(visit, order)}
    </li>
  );
}

function usd(amount: number): string {
  return `$${amount.toFixed(2)}`;
}

export function ordersScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, url, now } = visit;
  const chosen = url.searchParams.get('status');
  const status = ORDER_STATUSES.find((one) => one === chosen) ?? null;
  const before = url.searchParams.get('before');
  const filter = { ...(status !== null && { status }), ...(before !== null && { before }) };
  const list = (limit: number) => sandbox.orders.list(limit, filter);
  const { rows, older } = pageOfSome(visit, '/orders', list, { status });
  const hrefTo = ({ id }: OrderSummary): string => `${base}/orders/${id}`;
  return {
    title: status === null ? 'All orders' : `Orders: ${status}`,
    current: '/',
    content: (
      <div id="live">
        <p id="back">
          <a href={base === '' ? '/' : base}>Back to the board</a>
        </p>
        <DataTable
          id="orders"
          kind="groups fits"
          none={before === null ? 'No orders.' : 'No older orders.'}
          rows={rows}
          rowIs={(order) => ({ id: `order-${order.id}`, 'data-href': hrefTo(order) })}
          columns={[
            ['order', (order) => <a href={hrefTo(order)}>{order.id}</a>, { 'data-col': 'event' }],
            ['state', (order) => <StateBadge state={order.status} />],
            ['total', ({ total }) => usd(total), { 'data-label': 'total', class: 'figures' }],
            [
              'customer',
              ({ customerName }) =>
                customerName !== '' && (
                  <span class="line" title={oneLine(customerName, 200)}>
                    <StoredText text={customerName} atMost={60} />
                  </span>
                ),
              { 'data-label': 'customer', 'data-col': 'customer' },
            ],
            ['placed', ({ createdAt }) => <ShortTime at={createdAt} now={now} />],
            [<span class="unseen">moves</span>, (order) => moveButtons(visit, order), { 'data-col': 'acts' }],
          ]}
        />
        {older}
      </div>
    ),
  };
}

export function orderScreen(visit: SandboxVisit, order: OrderRecord): Screen {
  const { sandbox, now } = visit;
  const { id, status, isSubmitted, estimatedReadyAt } = order;
  const charges = sandbox.orders.charges(id);
  return {
    title: `Order ${id}`,
    current: '/',
    content: (
      <div id="live">
        <section class="panel" id="standing">
          <Facts
            facts={[
              [
                'state',
                <>
                  <StateBadge state={status} /> {isSubmitted ? 'submitted' : 'not submitted'}
                </>,
              ],
              ['customer', <StoredText text={order.customerName} atMost={200} />],
              ['total', usd(order.total)],
              ['placed', <Time at={order.createdAt} now={now} />],
              ['last changed', <Time at={order.updatedAt} now={now} />],
              estimatedReadyAt !== null && ['estimated ready', <Time at={estimatedReadyAt} now={now} />],
            ]}
          />
          {moveButtons(visit, order)}
        </section>
        {charges.length > 0 && (
          <Panel id="charges" title="Charges">
            <ol>
              {charges.map(({ amount, paymentMethodId, state, at }) => (
                <li>
                  {usd(amount)} with <StoredText text={paymentMethodId} atMost={60} />: {state},{' '}
                  <Time at={at} now={now} />
                </li>
              ))}
            </ol>
          </Panel>
        )}
        {bodyPanel(visit, 'Order as JSON', `/orders/${id}`, Buffer.from(JSON.stringify(order.order, null, 2)))}
      </div>
    ),
  };
}
