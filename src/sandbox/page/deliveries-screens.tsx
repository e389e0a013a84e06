import { oneLine } from '../../printable.ts';
import { number } from '../../ops/words/format.ts';
import { hrefOf } from '../../page/parts/filter-fields.ts';
import { Icon } from '../../page/parts/icon.tsx';
import { OlderLink, pageBefore } from '../../page/parts/list-query.tsx';
import { type Column, DataTable, Facts, Notice } from '../../page/parts/list-table.tsx';
import { Menu } from '../../page/parts/menu.tsx';
import { Listed, ShortTime, StoredText, Time } from '../../page/parts/text.tsx';
import type { Screen } from '../../page/visit.ts';
import type { Delivery, DeliveryRecord, DeliveryState, DeliveryTry } from '../delivery-list.ts';
import type { Endpoint } from '../endpoints.ts';
import {
  ActButton,
  bodyPanel,
  EndpointName,
  PAGE,
  retryButton,
  SandboxForm,
  StateBadge,
  type SandboxVisit,
} from './parts.tsx';

/** The worst first. */
const STATES: readonly DeliveryState[] = ['dead', 'waiting', 'delivered', 'dropped'];

/** The deliveries of one event, by endpoint. */
interface EventDeliveries {
  readonly event: Delivery['event'];
  readonly deliveries: readonly [Delivery, ...Delivery[]];
}

export function deliveriesScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, url, now } = visit;
  const chosen = url.searchParams.get('state');
  const state = STATES.find((one) => one === chosen) ?? null;
  const endpoint = url.searchParams.get('endpoint');
  const before = pageBefore(url);
  const { groups, next } = groupedByEvent(
    sandbox.deliveries.list({
      ...(state !== null && { state }),
      ...(endpoint !== null && { endpoint }),
      ...(before !== null && { before }),
      limit: PAGE + 1,
    }),
  );
  const endpoints = sandbox.webhooks.list();
  const endpointOf = ({ endpoint }: Delivery) => endpoints.find(({ id }) => id === endpoint);
  const hrefTo = ({ id }: Delivery): string => `${base}/deliveries/${id}`;
  const fields = Object.entries({ state, endpoint, before: String(next) });
  return {
    title: state === 'dead' ? 'Dead letters' : 'Deliveries',
    current: '/deliveries',
    content: (
      <div id="live">
        <div class="toolbar">
          {stateChips(visit, state, endpoint)}
          {actsOnSeveral(
            visit,
            endpoints.filter(({ id }) => endpoint === null || id === endpoint),
          )}
        </div>
        {endpoint !== null && endpointChip(visit, endpoints, endpoint, state)}
        <DataTable
          id="deliveries"
          kind="groups fits deliveries"
          none={
            endpoints.length === 0
              ? 'No deliveries, because no endpoint is registered.'
              : `No ${before === null ? '' : 'older '}deliveries.`
          }
          rows={groups}
          rowIs={({ event, deliveries: [first] }) => ({ id: `event-${event.id}`, 'data-href': hrefTo(first) })}
          columns={columnsOf(visit, endpointOf, hrefTo)}
          inside={({ deliveries }) =>
            deliveries.map((delivery) => (
              <section id={`delivery-${delivery.id}`}>
                <div class="heading">
                  <p>
                    <a href={hrefTo(delivery)}>Delivery {number(delivery.id)}</a> <StateBadge state={delivery.state} />{' '}
                    <EndpointName endpoint={endpointOf(delivery)} />
                  </p>
                  {deliveries.length > 1 && retryButton(visit, delivery)}
                </div>
                <ol class="attempts">
                  {sandbox.deliveries.tries(delivery.id).map((one) => (
                    <li>
                      <ShortTime at={one.at} now={now} />
                      <StoredText text={outcomeOf(one)} atMost={200} />
                      <span class="muted">{remarksOn(one)}</span>
                    </li>
                  ))}
                  {delivery.nextAt !== null && (
                    <li>
                      <ShortTime at={delivery.nextAt} now={now} />
                      <span class="muted">next attempt</span>
                    </li>
                  )}
                </ol>
              </section>
            ))
          }
        />
        {next !== null && <OlderLink href={hrefOf(`${base}/deliveries`, fields)} />}
      </div>
    ),
  };
}

/** The deliveries of an event are listed together. A page ends with a whole event, or begins and ends within one. */
function groupedByEvent(found: readonly Delivery[]): {
  readonly groups: readonly EventDeliveries[];
  readonly next: number | null;
} {
  const groups: { event: Delivery['event']; deliveries: [Delivery, ...Delivery[]] }[] = [];
  for (const delivery of found.slice(0, PAGE)) {
    const last = groups.at(-1);
    if (last?.event.id === delivery.event.id) last.deliveries.push(delivery);
    else groups.push({ event: delivery.event, deliveries: [delivery] });
  }
  const isMore = found.length > PAGE;
  if (isMore && groups.length > 1 && groups.at(-1)?.event.id === found[PAGE]?.event.id) groups.pop();
  return { groups, next: isMore ? (groups.at(-1)?.deliveries.at(-1)?.id ?? null) : null };
}

function columnsOf(
  visit: SandboxVisit,
  endpointOf: (delivery: Delivery) => Endpoint | undefined,
  hrefTo: (delivery: Delivery) => string,
): readonly Column<EventDeliveries>[] {
  const { sandbox, now } = visit;
  return [
    ['event', ({ event, deliveries: [first] }) => <a href={hrefTo(first)}>{event.type}</a>, { 'data-col': 'event' }],
    [
      'about',
      ({ event: { about } }) => about !== null && <Listed text={about} atMost={40} />,
      { 'data-label': 'about', 'data-col': 'about' },
    ],
    ['happened', ({ event }) => <ShortTime at={event.createdAt} now={now} />, { 'data-col': 'happened' }],
    [
      'endpoint',
      ({ deliveries }) => {
        const [first] = deliveries;
        if (deliveries.length > 1) return `${number(deliveries.length)} endpoints`;
        const url = endpointOf(first)?.url;
        return url ? <Listed text={url} atMost={60} end={12} /> : <EndpointName endpoint={endpointOf(first)} />;
      },
      { 'data-label': 'endpoint', 'data-col': 'endpoint' },
    ],
    [
      'outcome',
      ({ deliveries }) => {
        const newest = newestOf(
          deliveries.flatMap(({ id, tries }) => (tries === 0 ? [] : sandbox.deliveries.tries(id))),
        );
        return (
          <span class="line">
            {STATES.map((state) => {
              const count = deliveries.filter((one) => one.state === state).length;
              if (count === 0) return <></>;
              return (
                <>
                  <StateBadge state={state} />
                  {deliveries.length > 1 && <span class="muted">{count}</span>}
                </>
              );
            })}
            {newest !== undefined && (
              <span class="newest" title={oneLine(outcomeOf(newest), 200)}>
                <StoredText text={outcomeOf(newest)} atMost={80} />
              </span>
            )}
          </span>
        );
      },
      { 'data-label': 'outcome', 'data-col': 'outcome' },
    ],
    ['attempts', attemptsOf, { 'data-label': 'attempts', 'data-col': 'attempts' }],
    [
      'next attempt',
      ({ deliveries }) => {
        const [next] = deliveries.flatMap(({ nextAt }) => nextAt ?? []).toSorted((a, b) => a.getTime() - b.getTime());
        return next !== undefined && <ShortTime at={next} now={now} />;
      },
      { 'data-label': 'next attempt', 'data-col': 'next' },
    ],
    [
      <span class="unseen">action</span>,
      ({ deliveries }) => deliveries.length === 1 && <div class="row-acts">{retryButton(visit, deliveries[0])}</div>,
      { 'data-col': 'acts' },
    ],
  ];
}

/** The style sheet shows the next row while this is open. */
function attemptsOf({ event, deliveries }: EventDeliveries) {
  const tries = deliveries.reduce((sum, one) => sum + one.tries, 0);
  return (
    <details class="attempts" id={`attempts-${event.id}`}>
      <summary>
        {number(tries)} <span class="unseen">attempts for {event.type}</span>
      </summary>
    </details>
  );
}

function newestOf(tries: readonly DeliveryTry[]): DeliveryTry | undefined {
  return tries.toSorted((a, b) => a.at.getTime() - b.at.getTime()).at(-1);
}

function outcomeOf({ why, status }: DeliveryTry): string {
  return why ?? `answered ${status}`;
}

function remarksOn({ note, fault, byHand }: DeliveryTry): string {
  return [note, fault !== null && `fault ${fault}`, byHand && 'manual'].filter(Boolean).join(', ');
}

function stateChips({ sandbox, base }: SandboxVisit, state: DeliveryState | null, endpoint: string | null) {
  const counts = sandbox.deliveries.counts();
  const href = (state: DeliveryState | null): string =>
    hrefOf(`${base}/deliveries`, Object.entries({ state, endpoint }));
  return (
    <nav aria-label="States of deliveries" id="states">
      <ul class="chips">
        <li>
          <a class="chip" href={href(null)} aria-current={state === null ? 'true' : undefined}>
            All
          </a>
        </li>
        {STATES.map((one) => (
          <li>
            <a class="chip" href={href(one)} aria-current={one === state ? 'true' : undefined}>
              <StateBadge state={one} /> {endpoint === null && <span class="count">{number(counts[one])}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function endpointChip(
  { base }: SandboxVisit,
  endpoints: readonly Endpoint[],
  endpoint: string,
  state: DeliveryState | null,
) {
  const known = endpoints.find(({ id }) => id === endpoint);
  return (
    <ul class="chips" id="endpoint">
      <li>
        <a class="chip" href={hrefOf(`${base}/deliveries`, Object.entries({ state }))}>
          <span class="unseen">Remove </span>
          <span class="muted">endpoint</span>{' '}
          <span class="value">
            {known === undefined ? <StoredText text={endpoint} atMost={60} /> : <EndpointName endpoint={known} />}
          </span>
          <Icon name="close" />
        </a>
      </li>
    </ul>
  );
}

/** With more endpoints, the visitor selects an endpoint first. */
const MOST_BUTTONS = 10;

function actsOnSeveral(visit: SandboxVisit, endpoints: readonly Endpoint[]) {
  const { deliveries, clock } = visit.sandbox;
  if (visit.visitor.role !== 'operator') return <></>;
  const withDead = endpoints
    .filter(({ id: endpoint }) => deliveries.list({ state: 'dead', endpoint, limit: 1 }).length > 0)
    .slice(0, MOST_BUTTONS);
  return (
    <>
      {clock.kind === 'frozen' && deliveries.counts().waiting > 0 && (
        <SandboxForm visit={visit} to="/clock/advance" label="Send due deliveries" hidden={[['by', '0']]}>
          <button type="submit">Send due deliveries now</button>
        </SandboxForm>
      )}
      {withDead.length > 0 && (
        <Menu id="retry-dead" icon="rerun" label="Retry dead letters" words="Retry dead letters">
          <ul>
            {withDead.map((endpoint) => (
              <li>
                <ActButton
                  visit={visit}
                  to={`/webhooks/${endpoint.id}/retry-dead`}
                  label={`Retry all dead letters for ${endpoint.id}`}
                >
                  <EndpointName endpoint={endpoint} />
                </ActButton>
              </li>
            ))}
          </ul>
        </Menu>
      )}
    </>
  );
}

export function deliveryScreen(visit: SandboxVisit, delivery: DeliveryRecord): Screen {
  const { sandbox, base, now } = visit;
  const { id, event, state, nextAt, body } = delivery;
  const endpoint = sandbox.webhooks.list().find((one) => one.id === delivery.endpoint);
  const others = sandbox.deliveries.list({ event: event.id, limit: PAGE }).filter((one) => one.id !== id);
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
              others.length > 0 && [
                'other deliveries',
                others.map((one) => (
                  <span class="other">
                    <a href={`${base}/deliveries/${one.id}`}>Delivery {number(one.id)}</a>{' '}
                    <StateBadge state={one.state} />
                  </span>
                )),
              ],
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
          ['attempt', (one) => number(one.number)],
          ['at', ({ at }) => <Time at={at} now={now} />],
          ['answer', ({ status }) => (status === null ? 'none' : String(status))],
          ['error', ({ why }) => why !== null && <StoredText text={why} atMost={300} />],
          ['remarks', (one) => remarksOn(one) !== '' && <StoredText text={remarksOn(one)} atMost={300} />],
        ]}
      />
    </section>
  );
}
