import { RawText, BodyTree } from '../../../page/parts/body-views.tsx';
import { StoredText } from '../../../page/parts/stored-text.tsx';
import { Time } from '../../../page/parts/time.tsx';
import type { Screen } from '../../../page/visit.ts';
import { Facts } from '../parts/facts.tsx';
import { MoveButtons } from '../parts/move-buttons.tsx';
import { StateBadge, usd } from '../parts/words.tsx';
import type { OrderRecord } from '../../order-list.ts';
import type { ChargeRecord } from '../../payments.ts';
import type { SandboxVisit } from '../sandbox-visit.ts';

/** One order: where it stands, what was charged for it, and its body. */
export function orderScreen(visit: SandboxVisit, order: OrderRecord): Screen {
  const { sandbox, base, now, url } = visit;
  const body = Buffer.from(JSON.stringify(order.order, null, 2));
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
        <Charges charges={sandbox.orders.charges(order.id)} visit={visit} />
        <section class="panel body" id="body">
          <h2>Order as JSON</h2>
          {url.searchParams.get('view') === 'raw' ? (
            <RawText body={body} />
          ) : (
            <BodyTree body={body} rawHref={`${base}/orders/${order.id}?view=raw`} />
          )}
        </section>
      </div>
    ),
  };
}

function Charges({ charges, visit }: { readonly charges: readonly ChargeRecord[]; readonly visit: SandboxVisit }) {
  if (charges.length === 0) return <></>;
  return (
    <section class="panel" id="charges">
      <h2>Charges</h2>
      <ol>
        {charges.map((charge) => (
          <li>
            {usd(charge.amount)} with <StoredText text={charge.paymentMethodId} atMost={60} />: {charge.state},{' '}
            <Time at={charge.at} now={visit.now} />
          </li>
        ))}
      </ol>
    </section>
  );
}
