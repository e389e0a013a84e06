import { listOrders } from '../lib/orders.js';

export const dynamic = 'force-dynamic'; // the orders of now, not those of the build

export default function Orders() {
  return (
    <main>
      <h1>Orders</h1>
      <ul>
        {listOrders().map(({ id, total, currency }) => (
          <li key={id}>
            {id}: {total} {currency}
          </li>
        ))}
      </ul>
    </main>
  );
}
