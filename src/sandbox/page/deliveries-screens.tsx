import { number } from '../../ops/words/format.ts';
import { hrefOf } from '../../page/parts/filter-fields.ts';
import { LinkRow, pageBefore } from '../../page/parts/list-query.tsx';
import { actsColumn, DataTable, Facts, Notice } from '../../page/parts/list-table.tsx';
import { StoredText, Time } from '../../page/parts/text.tsx';
import type { Screen } from '../../page/visit.ts';
import type { Delivery, DeliveryState, DeliveryRecord } from '../delivery-list.ts';
import type { Endpoint } from '../endpoints.ts';
import {
  ActButton,
  bodyPanel,
  EndpointName,
  pageOfSome,
  retryButton,
  SandboxForm,
  StateBadge,
  type SandboxVisit,
} from './parts.tsx';

const STATES: readonly DeliveryState[] = ['waiting', 'dead', 'delivered', 'dropped'];

export function deliveriesScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, url, now } = visit;
  const chosen = url.searchParams.get('state');
  const state = STATES.find((one) => one === chosen) ?? null;
  const endpoint = url.searchParams.get('endpoint');
  const before = pageBefore(url);
  const filter = {
    ...(state !== null && { state }),
    ...(endpoint !== null && { endpoint }),
    ...(before !== null && { before }),
  };
  const list = (limit: number) => sandbox.deliveries.list({ ...filter, limit });
  const { rows, older } = pageOfSome(visit, '/deliveries', list, { state, endpoint });
  const endpoints = sandbox.webhooks.list();
  const hrefTo = ({ id }: Delivery): string => `${base}/deliveries/${id}`;
  const lastTry = ({ id, tries }: Delivery) => (tries === 0 ? undefined : sandbox.deliveries.tries(id).at(-1));
  const none =
    endpoints.length === 0
      ? 'No deliveries, because no endpoint is registered.'
      : `No ${before === null ? '' : 'older '}deliveries.`;
  return {
    title: state === 'dead' ? 'Dead letters' : 'Deliveries',
    current: '/deliveries',
    content: (
      <div id="live">
        {viewsOf(visit, state, endpoint)}
        {actsOnSeveral(
          visit,
          endpoints.filter(({ id }) => endpoint === null || id === endpoint),
        )}
        <DataTable
          id="deliveries"
          none={none}
          rows={rows}
          rowIs={(delivery) => ({ id: `delivery-${delivery.id}`, 'data-href': hrefTo(delivery) })}
          columns={[
            ['event', (delivery) => <a href={hrefTo(delivery)}>{delivery.event.type}</a>],
            ['about', ({ event }) => <StoredText text={event.about ?? '–'} atMost={60} />],
            ['happened', ({ event }) => <Time at={event.createdAt} now={now} />],
            [
              'endpoint',
              (delivery) => <EndpointName endpoint={endpoints.find(({ id }) => id === delivery.endpoint)} />,
            ],
            [
              'state',
              ({ state, nextAt }) => (
                <>
                  <StateBadge state={state} />{' '}
                  {nextAt !== null && (
                    <>
                      next attempt <Time at={nextAt} now={now} />
                    </>
                  )}
                </>
              ),
            ],
            ['tries', ({ tries }) => number(tries)],
            ['why', (delivery) => <StoredText text={lastTry(delivery)?.why ?? '–'} atMost={200} />],
            actsColumn('action', (delivery: Delivery) => retryButton(visit, delivery)),
          ]}
        />
        {older}
      </div>
    ),
  };
}

function viewsOf({ sandbox, base }: SandboxVisit, state: DeliveryState | null, endpoint: string | null) {
  const counts = sandbox.deliveries.counts();
  const href = (state: DeliveryState | null, endpoint: string | null): string =>
    hrefOf(`${base}/deliveries`, Object.entries({ state, endpoint }));
  const links = STATES.map((one) => {
    const words = endpoint === null ? `${one} (${number(counts[one])})` : one;
    return [href(one, endpoint), words, one === state] as const;
  });
  return (
    <>
      <LinkRow
        kind="views"
        label="States of deliveries"
        id="states"
        links={[[href(null, endpoint), 'All', state === null], ...links]}
      />
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

function actsOnSeveral(visit: SandboxVisit, endpoints: readonly Endpoint[]) {
  const { deliveries, clock } = visit.sandbox;
  const withDead = endpoints.filter(
    ({ id: endpoint }) => deliveries.list({ state: 'dead', endpoint, limit: 1 }).length > 0,
  );
  return (
    <section class="actions" id="acts" aria-label="Actions on several deliveries">
      {clock.kind === 'frozen' && deliveries.counts().waiting > 0 && (
        <SandboxForm visit={visit} to="/clock/advance" label="Send due deliveries" hidden={[['by', '0']]}>
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
            facts={[
              ['state', <StateBadge state={state} />],
              nextAt !== null && ['next attempt', <Time at={nextAt} now={now} />],
              ['event', <StoredText text={event.id} atMost={60} />],
              ['happened', <Time at={event.createdAt} now={now} />],
              ['about', isOrder ? <a href={`${base}/orders/${event.about}`}>{about}</a> : about],
              ['endpoint', <EndpointName endpoint={endpoint} />],
            ]}
          />
          {retryButton(visit, delivery)}
        </section>
        {triesPart(visit, id)}
        {bodyPanel(visit, 'Event', `/deliveries/${id}`, body)}
      </div>
    ),
  };
}

function triesPart({ sandbox, now }: SandboxVisit, delivery: number) {
  const tries = sandbox.deliveries.tries(delivery);
  if (tries.length === 0) return <Notice>No attempt yet.</Notice>;
  return (
    <section id="tries-part">
      <h2>Attempts</h2>
      <DataTable
        id="tries"
        rows={tries}
        rowIs={(one) => ({ id: `try-${one.number}` })}
        columns={[
          ['try', (one) => number(one.number)],
          ['at', ({ at }) => <Time at={at} now={now} />],
          ['answer', ({ status }) => (status === null ? 'none' : String(status))],
          ['error', ({ why, note }) => <StoredText text={why ?? note ?? '–'} atMost={300} />],
          ['fault', ({ fault }) => fault ?? '–'],
          ['trigger', ({ byHand }) => (byHand ? 'manual' : 'schedule')],
        ]}
      />
    </section>
  );
}
