import { eventTypes } from '../../events/event-types.ts';
import { hrefOf } from '../../page/parts/filter-fields.ts';
import { Choices, Field } from '../../page/parts/form-fields.tsx';
import { DataTable } from '../../page/parts/list-table.tsx';
import { ShortTime } from '../../page/parts/text.tsx';
import type { Screen } from '../../page/visit.ts';
import type { Endpoint } from '../endpoints.ts';
import { EndpointName, pageOfAll, PanelForm, SandboxDialog, sentInto, shownOnce, type SandboxVisit } from './parts.tsx';

export function webhooksScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, now } = visit;
  const { rows, older } = pageOfAll(visit, '/webhooks', sandbox.webhooks.list().toReversed());
  const hrefTo = ({ id }: Endpoint): string => `${base}/webhooks/${id}`;
  const deliveriesTo = (endpoint: string, state: string | null): string =>
    hrefOf(`${base}/deliveries`, Object.entries({ state, endpoint }));
  return {
    title: 'Webhooks',
    current: '/webhooks',
    content: (
      <>
        {newEndpointForm(visit)}
        <div id="live">
          <DataTable
            id="endpoints"
            none="No endpoint is registered, so no events are delivered."
            rows={rows}
            rowIs={(endpoint) => ({ id: `endpoint-${endpoint.id}`, 'data-href': hrefTo(endpoint) })}
            columns={[
              [
                'address',
                (endpoint) => (
                  <a href={hrefTo(endpoint)}>
                    <EndpointName endpoint={endpoint} />
                  </a>
                ),
              ],
              ['events', ({ events }) => (events === null ? 'all' : events.join(', ') || 'none')],
              ['signed', ({ isSigned }) => (isSigned ? 'yes' : 'no')],
              ['registered', ({ createdAt }) => <ShortTime at={createdAt} now={now} />],
              [
                'deliveries',
                ({ id }) => (
                  <>
                    <a href={deliveriesTo(id, null)} aria-label={`All deliveries to ${id}`}>
                      all
                    </a>
                    ,{' '}
                    <a href={deliveriesTo(id, 'dead')} aria-label={`Dead letters for ${id}`}>
                      dead letters
                    </a>
                  </>
                ),
              ],
            ]}
          />
          {older}
        </div>
      </>
    ),
  };
}

const SIGNINGS: ReadonlyMap<string, string> = new Map([
  ['new', 'with a new secret'],
  ['own', 'with your own secret'],
  ['none', 'not signed'],
]);

function newEndpointForm(visit: SandboxVisit) {
  const sent = sentInto(visit, '/webhooks');
  return (
    <SandboxDialog
      visit={visit}
      id="register"
      icon="add"
      to="/webhooks"
      label="Register an endpoint"
      button="New endpoint"
    >
      <UrlField value={sent?.('url')[0] ?? ''} />
      <Choices legend="Events" name="events" options={eventTypes} chosen={sent?.('events') ?? eventTypes} />
      <Choices
        legend="Signing"
        type="radio"
        name="signing"
        options={[...SIGNINGS.keys()]}
        words={(signing) => SIGNINGS.get(signing)}
        chosen={sent?.('signing') ?? ['new']}
      />
      <Field label="Your own secret" type="password" name="secret" maxlength={1000} autocomplete="new-password" />
    </SandboxDialog>
  );
}

function UrlField({ value }: { readonly value: string }) {
  const label = 'URL (https, unless it points to this machine)';
  return <Field label={label} name="url" value={value} inputmode="url" maxlength={2000} required autocomplete="off" />;
}

export function webhookScreen(visit: SandboxVisit, endpoint: Endpoint): Screen {
  const { id, url, events, isSigned } = endpoint;
  return {
    title: `Endpoint ${id}`,
    current: '/webhooks',
    content: (
      <>
        <p class="subject">
          <EndpointName endpoint={endpoint} /> <span class="muted">{isSigned ? 'signed' : 'not signed'}</span>
        </p>
        <PanelForm
          visit={visit}
          to={`/webhooks/${id}/change`}
          label="Change the endpoint"
          title="Change"
          submit="Change"
        >
          {url !== null && <UrlField value={url} />}
          <Choices legend="Events" name="events" options={eventTypes} chosen={events ?? eventTypes} />
        </PanelForm>
        <div class="acts">
          <SandboxDialog
            visit={visit}
            id="replace"
            icon="key"
            at={`/webhooks/${id}`}
            to={`/webhooks/${id}/secret`}
            label="Replace the secret"
            danger
          >
            <p>{REPLACES}</p>
          </SandboxDialog>
          <SandboxDialog
            visit={visit}
            id="remove"
            icon="discard"
            at={`/webhooks/${id}`}
            to={`/webhooks/${id}/delete`}
            label="Remove the endpoint"
            danger
          >
            <p>{REMOVES}</p>
          </SandboxDialog>
        </div>
      </>
    ),
  };
}

const REPLACES =
  'The new secret is shown once. The sandbox signs all further deliveries with it, including those that are already waiting.';
const REMOVES = 'The secret and the waiting deliveries of the endpoint are deleted.';

export function newSecretScreen(visit: SandboxVisit, id: string, secret: string): Screen {
  return {
    title: 'New signing secret',
    current: '/webhooks',
    content: shownOnce({
      value: secret,
      what: `The signing secret for the endpoint ${id}`,
      note: 'Set it in your receiver: createReceiver({ secret: … }).',
      back: [`${visit.base}/webhooks`, 'Back to the endpoints'],
    }),
  };
}
