import { number, timestamp } from '../../../ops/words/format.ts';
import { Copyable } from '../../../page/parts/act-form.tsx';
import { StoredText } from '../../../page/parts/stored-text.tsx';
import { Time } from '../../../page/parts/time.tsx';
import type { Screen } from '../../../page/visit.ts';
import type { OrderSummary } from '../../order-list.ts';
import { ORDER_STATUSES, type OrderStatus } from '../../order-moves.ts';
import { unbrokenCurlLine } from '../../openapi/page/curl-line.ts';
import { PLACE_ORDER } from '../example-requests.ts';
import { MoveButtons } from '../parts/move-buttons.tsx';
import { hrefWith } from '../parts/pages.tsx';
import { StateBadge, usd } from '../parts/words.tsx';
import type { SandboxVisit } from '../sandbox-visit.ts';

/** As many orders of one state as the board shows; a list has the rest. */
const MOST_CARDS = 10;

/** The orders by their state, the newest first, each with its legal moves; and how the sandbox stands. */
export function boardScreen(visit: SandboxVisit): Screen {
  const { sandbox } = visit;
  const counts = sandbox.orders.counts();
  const isEmpty = ORDER_STATUSES.every((status) => counts[status] === 0);
  return {
    title: 'Orders',
    current: '/',
    content: (
      <div id="live">
        <Tiles visit={visit} />
        {isEmpty && <HowToOrder service={visit.service} />}
        <div class="board">
          {ORDER_STATUSES.map((status) => (
            <Column visit={visit} status={status} count={counts[status]} />
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

function HowToOrder({ service }: { readonly service: string }) {
  return (
    <section class="notice" id="none">
      <p>No orders yet. Create an API key, set the variable KEY to it, and create an order:</p>
      <Copyable text={unbrokenCurlLine(service, PLACE_ORDER)} />
      <p>
        After payment, the status of the order changes as the clock advances.{' '}
        <a href={`${service}/interface`}>The interface</a> shows a command for every operation.
      </p>
    </section>
  );
}

function Column({
  visit,
  status,
  count,
}: {
  readonly visit: SandboxVisit;
  readonly status: OrderStatus;
  readonly count: number;
}) {
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
