import { StoredText } from '../../../page/parts/stored-text.tsx';
import { Time } from '../../../page/parts/time.tsx';
import type { Screen } from '../../../page/visit.ts';
import type { OrderSummary } from '../../order-list.ts';
import { ORDER_STATUSES } from '../../order-moves.ts';
import { ListTable } from '../parts/list-table.tsx';
import { MoveButtons } from '../parts/move-buttons.tsx';
import { hrefWith, NextPage, PAGE } from '../parts/pages.tsx';
import { StateBadge, usd } from '../parts/words.tsx';
import type { SandboxVisit } from '../sandbox-visit.ts';

/** All orders of one state, or of any, page by page. */
export function ordersScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, url } = visit;
  const asked = url.searchParams.get('status');
  const status = ORDER_STATUSES.find((one) => one === asked) ?? null;
  const before = url.searchParams.get('before');
  const filter = { ...(status !== null && { status }), ...(before !== null && { before }) };
  const orders = sandbox.orders.list(PAGE + 1, filter);
  const rows = orders.slice(0, PAGE);
  const last = rows.at(-1);
  return {
    title: status === null ? 'All orders' : `Orders: ${status}`,
    current: '/',
    content: (
      <div id="live">
        <p id="back">
          <a href={base === '' ? '/' : base}>Back to the board</a>
        </p>
        {rows.length === 0 ? (
          <p class="notice" id="none">
            {before === null ? 'No orders.' : 'No older orders.'}
          </p>
        ) : (
          <OrdersTable visit={visit} orders={rows} />
        )}
        {orders.length > PAGE && last !== undefined && (
          <NextPage href={hrefWith(`${base}/orders`, { status, before: last.id })} />
        )}
      </div>
    ),
  };
}

function OrdersTable({ visit, orders }: { readonly visit: SandboxVisit; readonly orders: readonly OrderSummary[] }) {
  const { base, now } = visit;
  const hrefOf = ({ id }: OrderSummary): string => `${base}/orders/${id}`;
  return (
    <ListTable
      id="orders"
      rows={orders}
      idOf={({ id }) => `order-${id}`}
      hrefOf={hrefOf}
      columns={[
        { label: 'order', cell: (order) => <a href={hrefOf(order)}>{order.id}</a> },
        { label: 'state', cell: ({ status }) => <StateBadge state={status} /> },
        { label: 'total', cell: ({ total }) => usd(total) },
        { label: 'customer', cell: ({ customerName }) => <StoredText text={customerName} atMost={60} /> },
        { label: 'placed', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
        { label: 'moves', isActs: true, cell: (order) => <MoveButtons visit={visit} order={order} /> },
      ]}
    />
  );
}
