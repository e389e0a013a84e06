import { number } from '../../../ops/words/format.ts';
import { BodyTree, RawText } from '../../../page/parts/body-views.tsx';
import { StoredText } from '../../../page/parts/stored-text.tsx';
import { Time } from '../../../page/parts/time.tsx';
import type { Screen } from '../../../page/visit.ts';
import type { DeliveryRecord, DeliveryTry } from '../../delivery-list.ts';
import { EndpointName } from '../parts/endpoint-name.tsx';
import { Facts } from '../parts/facts.tsx';
import { ListTable } from '../parts/list-table.tsx';
import { RetryButton } from '../parts/retry-button.tsx';
import { StateBadge } from '../parts/words.tsx';
import type { SandboxVisit } from '../sandbox-visit.ts';

/** One delivery: where it stands, each try and what came of it, and what is delivered. */
export function deliveryScreen(visit: SandboxVisit, delivery: DeliveryRecord): Screen {
  const { sandbox, base, now, url } = visit;
  const { id, event, state, nextAt, body } = delivery;
  const endpoint = sandbox.webhooks.list().find((one) => one.id === delivery.endpoint);
  const about = <StoredText text={event.about ?? '–'} atMost={60} />;
  const isOrder = event.about !== null && sandbox.orders.find(event.about) !== null;
  const href = `${base}/deliveries/${id}`;
  return {
    title: `Delivery ${number(id)}: ${event.type}`,
    current: '/deliveries',
    content: (
      <div id="live">
        <section class="panel" id="standing">
          <Facts
            facts={{
              state: <StateBadge state={state} />,
              'next attempt': nextAt && <Time at={nextAt} now={now} />,
              event: <StoredText text={event.id} atMost={60} />,
              happened: <Time at={event.createdAt} now={now} />,
              about: isOrder ? <a href={`${base}/orders/${event.about}`}>{about}</a> : about,
              endpoint: <EndpointName endpoint={endpoint} />,
            }}
          />
          <RetryButton visit={visit} delivery={delivery} />
        </section>
        <Attempts tries={sandbox.deliveries.tries(id)} visit={visit} />
        <section class="panel body" id="body">
          <h2>Event</h2>
          {url.searchParams.get('view') === 'raw' ? (
            <RawText body={body} />
          ) : (
            <BodyTree body={body} rawHref={`${href}?view=raw`} />
          )}
        </section>
      </div>
    ),
  };
}

function Attempts({ tries, visit: { now } }: { readonly tries: readonly DeliveryTry[]; readonly visit: SandboxVisit }) {
  if (tries.length === 0) {
    return (
      <p class="notice" id="none">
        No attempt yet.
      </p>
    );
  }
  return (
    <section id="tries-part">
      <h2>Attempts</h2>
      <ListTable
        id="tries"
        rows={tries}
        idOf={(one) => `try-${one.number}`}
        columns={[
          { label: 'try', cell: (one) => number(one.number) },
          { label: 'at', cell: ({ at }) => <Time at={at} now={now} /> },
          { label: 'answer', cell: ({ status }) => (status === null ? 'none' : String(status)) },
          { label: 'error', cell: ({ why, note }) => <StoredText text={why ?? note ?? '–'} atMost={300} /> },
          { label: 'fault', cell: ({ fault }) => fault ?? '–' },
          { label: 'trigger', cell: ({ byHand }) => (byHand ? 'manual' : 'schedule') },
        ]}
      />
    </section>
  );
}
