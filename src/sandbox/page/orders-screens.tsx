import { number, timestamp } from '../../ops/words/format.ts';
import { Copyable } from '../../page/parts/act-form.tsx';
import { StoredText } from '../../page/parts/stored-text.tsx';
import { Time } from '../../page/parts/time.tsx';
import type { Screen } from '../../page/visit.ts';
import { PLACE_ORDER, unbrokenCurlLine } from '../openapi/example-requests.ts';
import type { OrderRecord, OrderSummary } from '../orders.ts';
import { ORDER_STATUSES, type OrderStatus } from '../resources.ts';
import { Body, Facts, hrefWith, ListTable, MoveButtons, NextPage, Notice, PAGE, StateBadge, usd } from './parts.tsx';
import type { SandboxVisit } from './parts.tsx';

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
        <Tiles visit={visit} />
        {isEmpty && (
          <section class="notice" id="none">
            <p>No orders yet. Create an API key, set the variable KEY to it, and create an order:</p>
            <Copyable text={unbrokenCurlLine(service, PLACE_ORDER)} />
            <p>
              After payment, the status of the order changes as the clock advances.{' '}
              <a href={`${service}/interface`}>The interface</a> shows a command for every operation.
            </p>
          </section>
        )}
        <div class="board">
          {ORDER_STATUSES.map((status) => (
            <Lane visit={visit} status={status} count={counts[status]} />
          ))}
        </div>
      </div>
    ),
  };
}

function Tiles({ visit: { sandbox, base, now } }: { readonly visit: SandboxVisit }) {
  const { waiting, dead } = sandbox.deliveries.counts();
  const tiles = [
    ['/clock', sandbox.clock.kind === 'frozen' ? 'Frozen clock' : 'Real clock', timestamp(now)],
    ['/deliveries?state=waiting', 'Waiting deliveries', number(waiting)],
    ['/deliveries?state=dead', 'Dead letters', number(dead)],
    ['/webhooks', 'Endpoints', number(sandbox.webhooks.list().length)],
  ] as const;
  return (
    <ul class="tiles">
      {tiles.map(([path, name, figure]) => (
        <li class="tile">
          <a href={`${base}${path}`}>
            <span class={path === '/clock' ? 'figure time' : 'figure'}>{figure}</span>
            <span class="name">{name}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

interface LaneParts {
  readonly visit: SandboxVisit;
  readonly status: OrderStatus;
  readonly count: number;
}

function Lane({ visit, status, count }: LaneParts) {
  const orders = visit.sandbox.orders.list(MOST_CARDS, { status });
  return (
    <section class="lane" id={`lane-${status}`} aria-labelledby={`lane-${status}-name`}>
      <h2 id={`lane-${status}-name`}>
        <StateBadge state={status} /> <span class="muted">{number(count)}</span>
      </h2>
      <ul class="cards">
        {orders.map((order) => (
          <Card visit={visit} order={order} />
        ))}
      </ul>
      {count > orders.length && (
        <p>
          <a href={hrefWith(`${visit.base}/orders`, { status })}>
            All {number(count)} {status}
          </a>
        </p>
      )}
    </section>
  );
}

function Card({ visit, order }: { readonly visit: SandboxVisit; readonly order: OrderSummary }) {
  const { id, total, customerName, isSubmitted, status, updatedAt } = order;
  return (
    <li class="card" id={`card-${id}`}>
      <p>
        <a href={`${visit.base}/orders/${id}`}>{id}</a>
      </p>
      <p>
        {usd(total)}
        {customerName !== '' && (
          <>
            {' '}
            for <StoredText text={customerName} atMost={60} />
          </>
        )}
        {status === 'created' && (isSubmitted ? ', submitted' : ', not submitted yet')}
      </p>
      <p class="muted">
        <Time at={updatedAt} now={visit.now} />
      </p>
      <MoveButtons visit={visit} order={order} />
    </li>
  );
}

export function ordersScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, url, now } = visit;
  const asked = url.searchParams.get('status');
  const status = ORDER_STATUSES.find((one) => one === asked) ?? null;
  const before = url.searchParams.get('before');
  const filter = { ...(status !== null && { status }), ...(before !== null && { before }) };
  const orders = sandbox.orders.list(PAGE + 1, filter);
  const rows = orders.slice(0, PAGE);
  const last = rows.at(-1);
  const hrefOf = ({ id }: OrderSummary): string => `${base}/orders/${id}`;
  return {
    title: status === null ? 'All orders' : `Orders: ${status}`,
    current: '/',
    content: (
      <div id="live">
        <p id="back">
          <a href={base === '' ? '/' : base}>Back to the board</a>
        </p>
        {rows.length === 0 ? (
          <Notice>{before === null ? 'No orders.' : 'No older orders.'}</Notice>
        ) : (
          <ListTable
            id="orders"
            rows={rows}
            idOf={({ id }) => `order-${id}`}
            hrefOf={hrefOf}
            columns={[
              { label: 'order', cell: (order) => <a href={hrefOf(order)}>{order.id}</a> },
              { label: 'state', cell: (order) => <StateBadge state={order.status} /> },
              { label: 'total', cell: ({ total }) => usd(total) },
              { label: 'customer', cell: ({ customerName }) => <StoredText text={customerName} atMost={60} /> },
              { label: 'placed', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
              { label: 'moves', isActs: true, cell: (order) => <MoveButtons visit={visit} order={order} /> },
            ]}
          />
        )}
        {orders.length > PAGE && last !== undefined && (
          <NextPage href={hrefWith(`${base}/orders`, { status, before: last.id })} />
        )}
      </div>
    ),
  };
}

export function orderScreen(visit: SandboxVisit, order: OrderRecord): Screen {
  const { sandbox, now } = visit;
  const charges = sandbox.orders.charges(order.id);
  return {
    title: `Order ${order.id}`,
    current: '/',
    content: (
      <div id="live">
        <section class="panel" id="standing">
          <Facts
            facts={{
              state: (
                <>
                  <StateBadge state={order.status} /> {order.isSubmitted ? 'submitted' : 'not submitted'}
                </>
              ),
              customer: <StoredText text={order.customerName} atMost={200} />,
              total: usd(order.total),
              placed: <Time at={order.createdAt} now={now} />,
              'last changed': <Time at={order.updatedAt} now={now} />,
              'estimated ready': order.estimatedReadyAt && <Time at={order.estimatedReadyAt} now={now} />,
            }}
          />
          <MoveButtons visit={visit} order={order} />
        </section>
        {charges.length > 0 && (
          <section class="panel" id="charges">
            <h2>Charges</h2>
            <ol>
              {charges.map(({ amount, paymentMethodId, state, at }) => (
                <li>
                  {usd(amount)} with <StoredText text={paymentMethodId} atMost={60} />: {state},{' '}
                  <Time at={at} now={now} />
                </li>
              ))}
            </ol>
          </section>
        )}
        <Body
          visit={visit}
          title="Order as JSON"
          path={`/orders/${order.id}`}
          body={Buffer.from(JSON.stringify(order.order, null, 2))}
        />
      </div>
    ),
  };
}
