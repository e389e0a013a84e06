import { eventTypes } from '../../events/event-types.ts';
import { Time } from '../../page/parts/time.tsx';
import type { Screen } from '../../page/visit.ts';
import type { Endpoint } from '../endpoints.ts';
import {
  EndpointName,
  ListTable,
  hrefWith,
  NextPage,
  pageOfAll,
  Confirmed,
  Notice,
  PanelForm,
  ShownOnce,
  sentInto,
  type SandboxVisit,
} from './parts.tsx';

export function webhooksScreen(visit: SandboxVisit): Screen {
  const { rows, next } = pageOfAll(visit.sandbox.webhooks.list().toReversed(), visit.url);
  return {
    title: 'Webhooks',
    current: '/webhooks',
    content: (
      <>
        <NewEndpointForm visit={visit} />
        <div id="live">
          {rows.length === 0 ? (
            <Notice>No endpoint is registered, so no events are delivered.</Notice>
          ) : (
            <EndpointsTable visit={visit} endpoints={rows} />
          )}
          {next !== null && <NextPage href={hrefWith(`${visit.base}/webhooks`, { from: next })} />}
        </div>
      </>
    ),
  };
}

const SIGNINGS = [
  ['new', 'with a new secret'],
  ['own', 'with your own secret'],
  ['none', 'not signed'],
] as const;

function NewEndpointForm({ visit }: { readonly visit: SandboxVisit }) {
  const sent = sentInto(visit, '/webhooks');
  const signing = sent?.('signing')[0] ?? 'new';
  return (
    <PanelForm visit={visit} to="/webhooks" label="Register an endpoint" submit="Register">
      <UrlField value={sent?.('url')[0] ?? ''} />
      <EventChoices chosen={sent?.('events') ?? eventTypes} />
      <fieldset class="choices">
        <legend>Signing</legend>
        {SIGNINGS.map(([value, words]) => (
          <label>
            <input type="radio" name="signing" value={value} checked={value === signing} /> {words}
          </label>
        ))}
      </fieldset>
      <label class="field">
        <span>Your own secret</span>
        <input type="password" name="secret" maxlength={1000} autocomplete="new-password" />
      </label>
    </PanelForm>
  );
}

function UrlField({ value = '' }: { readonly value?: string }) {
  return (
    <label class="field">
      <span>URL (https, unless it points to this machine)</span>
      <input type="text" name="url" value={value} inputmode="url" maxlength={2000} required autocomplete="off" />
    </label>
  );
}

function EventChoices({ chosen }: { readonly chosen: readonly string[] }) {
  return (
    <fieldset class="choices">
      <legend>Events</legend>
      {eventTypes.map((type) => (
        <label>
          <input type="checkbox" name="events" value={type} checked={chosen.includes(type)} /> {type}
        </label>
      ))}
    </fieldset>
  );
}

function EndpointsTable({
  visit,
  endpoints,
}: {
  readonly visit: SandboxVisit;
  readonly endpoints: readonly Endpoint[];
}) {
  const { base, now } = visit;
  const hrefOf = ({ id }: Endpoint): string => `${base}/webhooks/${id}`;
  return (
    <ListTable
      id="endpoints"
      rows={endpoints}
      idOf={({ id }) => `endpoint-${id}`}
      hrefOf={hrefOf}
      columns={[
        {
          label: 'address',
          cell: (endpoint) => (
            <a href={hrefOf(endpoint)}>
              <EndpointName endpoint={endpoint} />
            </a>
          ),
        },
        { label: 'events', cell: ({ events }) => (events === null ? 'all' : events.join(', ') || 'none') },
        { label: 'signed', cell: ({ isSigned }) => (isSigned ? 'yes' : 'no') },
        { label: 'registered', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
        {
          label: 'deliveries',
          cell: ({ id }) => (
            <>
              <a href={hrefWith(`${base}/deliveries`, { endpoint: id })} aria-label={`All deliveries to ${id}`}>
                all
              </a>
              ,{' '}
              <a
                href={hrefWith(`${base}/deliveries`, { state: 'dead', endpoint: id })}
                aria-label={`Dead letters for ${id}`}
              >
                dead letters
              </a>
            </>
          ),
        },
      ]}
    />
  );
}

export function webhookScreen(visit: SandboxVisit, endpoint: Endpoint): Screen {
  const { id, url, events, isSigned } = endpoint;
  return {
    title: `Endpoint ${id}`,
    current: '/webhooks',
    content: (
      <>
        <p class="subject">
          <EndpointName endpoint={endpoint} />, {isSigned ? 'signed' : 'not signed'}
        </p>
        <PanelForm
          visit={visit}
          to={`/webhooks/${id}/change`}
          label="Change the endpoint"
          title="Change"
          submit="Change"
        >
          {url !== null && <UrlField value={url} />}
          <EventChoices chosen={events ?? eventTypes} />
        </PanelForm>
        <div class="acts">
          <Confirmed
            visit={visit}
            to={`/webhooks/${id}/secret`}
            what="Replace the secret"
            warning="The new secret is shown once. The sandbox signs all further deliveries with it, including those that are already waiting."
          />
          <Confirmed
            visit={visit}
            to={`/webhooks/${id}/delete`}
            what="Remove the endpoint"
            warning="The secret and the waiting deliveries of the endpoint are deleted."
          />
        </div>
      </>
    ),
  };
}

export function newSecretScreen(visit: SandboxVisit, id: string, secret: string): Screen {
  return {
    title: 'New signing secret',
    current: '/webhooks',
    content: (
      <ShownOnce
        value={secret}
        what={`The signing secret for the endpoint ${id}`}
        note="Set it in your receiver: createReceiver({ secret: … })."
        back={{ href: `${visit.base}/webhooks`, label: 'Back to the endpoints' }}
      />
    ),
  };
}
