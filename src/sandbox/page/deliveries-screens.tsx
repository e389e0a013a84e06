import { number } from '../../ops/words/format.ts';
import { StoredText } from '../../page/parts/stored-text.tsx';
import { Time } from '../../page/parts/time.tsx';
import type { Screen } from '../../page/visit.ts';
import type { Delivery, DeliveryState, DeliveryRecord, DeliveryTry } from '../delivery-list.ts';
import type { Endpoint } from '../endpoints.ts';
import {
  ActButton,
  Body,
  Notice,
  EndpointName,
  ListTable,
  hrefWith,
  NextPage,
  PAGE,
  RetryButton,
  SandboxForm,
  StateBadge,
  type SandboxVisit,
  Facts,
} from './parts.tsx';

const STATES: readonly DeliveryState[] = ['waiting', 'dead', 'delivered', 'dropped'];

export function deliveriesScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, url } = visit;
  const asked = url.searchParams.get('state');
  const state = STATES.find((one) => one === asked) ?? null;
  const endpoint = url.searchParams.get('endpoint');
  const before = numberOf(url.searchParams.get('before'));
  const found = sandbox.deliveries.list({
    ...(state !== null && { state }),
    ...(endpoint !== null && { endpoint }),
    ...(before !== null && { before }),
    limit: PAGE + 1,
  });
  const rows = found.slice(0, PAGE);
  const last = rows.at(-1);
  const endpoints = sandbox.webhooks.list();
  return {
    title: state === 'dead' ? 'Dead letters' : 'Deliveries',
    current: '/deliveries',
    content: (
      <div id="live">
        <Views visit={visit} state={state} endpoint={endpoint} />
        <Acts visit={visit} endpoints={endpoints.filter(({ id }) => endpoint === null || id === endpoint)} />
        {rows.length === 0 ? (
          <Notice>
            {endpoints.length === 0
              ? 'No deliveries, because no endpoint is registered.'
              : `No ${before === null ? '' : 'older '}deliveries.`}
          </Notice>
        ) : (
          <DeliveriesTable visit={visit} deliveries={rows} endpoints={endpoints} />
        )}
        {found.length > PAGE && last !== undefined && (
          <NextPage href={hrefWith(`${base}/deliveries`, { state, endpoint, before: String(last.id) })} />
        )}
      </div>
    ),
  };
}

function Views({
  visit: { sandbox, base },
  state,
  endpoint,
}: {
  readonly visit: SandboxVisit;
  readonly state: DeliveryState | null;
  readonly endpoint: string | null;
}) {
  const counts = sandbox.deliveries.counts();
  const href = (state: DeliveryState | null, endpoint: string | null): string =>
    hrefWith(`${base}/deliveries`, { state, endpoint });
  return (
    <>
      <nav class="views" aria-label="States of deliveries" id="states">
        <a href={href(null, endpoint)} aria-current={state === null ? 'true' : undefined}>
          All
        </a>
        {STATES.map((one) => (
          <a href={href(one, endpoint)} aria-current={state === one ? 'true' : undefined}>
            {one}
            {endpoint === null && ` (${number(counts[one])})`}
          </a>
        ))}
      </nav>
      {endpoint !== null && (
        <p id="endpoint">
          Endpoint <StoredText text={endpoint} atMost={60} />. <a href={href(state, null)}>All endpoints</a>
        </p>
      )}
    </>
  );
}

/** With more endpoints, the visitor selects an endpoint first. */
const MOST_BUTTONS = 10;

function Acts({ visit, endpoints }: { readonly visit: SandboxVisit; readonly endpoints: readonly Endpoint[] }) {
  const { sandbox } = visit;
  const withDead = endpoints.filter(({ id: endpoint }) => {
    return sandbox.deliveries.list({ state: 'dead', endpoint, limit: 1 }).length > 0;
  });
  const isWaiting = sandbox.clock.kind === 'frozen' && sandbox.deliveries.counts().waiting > 0;
  return (
    <section class="actions" id="acts" aria-label="Actions on several deliveries">
      {isWaiting && (
        <SandboxForm visit={visit} to="/clock/advance" label="Send due deliveries">
          <input type="hidden" name="by" value="0" />
          <button type="submit">Send due deliveries now</button>
        </SandboxForm>
      )}
      {withDead.slice(0, MOST_BUTTONS).map((endpoint) => (
        <ActButton
          visit={visit}
          to={`/webhooks/${endpoint.id}/retry-dead`}
          label={`Retry all dead letters for ${endpoint.id}`}
        >
          Retry all dead letters for <EndpointName endpoint={endpoint} />
        </ActButton>
      ))}
    </section>
  );
}

function DeliveriesTable({
  visit,
  deliveries,
  endpoints,
}: {
  readonly visit: SandboxVisit;
  readonly deliveries: readonly Delivery[];
  readonly endpoints: readonly Endpoint[];
}) {
  const { sandbox, base, now } = visit;
  const hrefOf = ({ id }: Delivery): string => `${base}/deliveries/${id}`;
  const lastTry = ({ id, tries }: Delivery) => (tries === 0 ? undefined : sandbox.deliveries.tries(id).at(-1));
  return (
    <ListTable
      id="deliveries"
      rows={deliveries}
      idOf={({ id }) => `delivery-${id}`}
      hrefOf={hrefOf}
      columns={[
        { label: 'event', cell: (delivery) => <a href={hrefOf(delivery)}>{delivery.event.type}</a> },
        { label: 'about', cell: ({ event }) => <StoredText text={event.about ?? '–'} atMost={60} /> },
        { label: 'happened', cell: ({ event }) => <Time at={event.createdAt} now={now} /> },
        {
          label: 'endpoint',
          cell: ({ endpoint }) => <EndpointName endpoint={endpoints.find(({ id }) => id === endpoint)} />,
        },
        {
          label: 'state',
          cell: ({ state, nextAt }) => (
            <>
              <StateBadge state={state} />{' '}
              {nextAt !== null && (
                <>
                  next attempt <Time at={nextAt} now={now} />
                </>
              )}
            </>
          ),
        },
        { label: 'tries', cell: ({ tries }) => number(tries) },
        { label: 'why', cell: (delivery) => <StoredText text={lastTry(delivery)?.why ?? '–'} atMost={200} /> },
        { label: 'action', isActs: true, cell: (delivery) => <RetryButton visit={visit} delivery={delivery} /> },
      ]}
    />
  );
}

function numberOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export function deliveryScreen(visit: SandboxVisit, delivery: DeliveryRecord): Screen {
  const { sandbox, base, now } = visit;
  const { id, event, state, nextAt, body } = delivery;
  const endpoint = sandbox.webhooks.list().find((one) => one.id === delivery.endpoint);
  const about = <StoredText text={event.about ?? '–'} atMost={60} />;
  const isOrder = event.about !== null && sandbox.orders.find(event.about) !== null;
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
        <Body visit={visit} title="Event" path={`/deliveries/${id}`} body={body} />
      </div>
    ),
  };
}

function Attempts({ tries, visit: { now } }: { readonly tries: readonly DeliveryTry[]; readonly visit: SandboxVisit }) {
  if (tries.length === 0) {
    return <Notice>No attempt yet.</Notice>;
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
