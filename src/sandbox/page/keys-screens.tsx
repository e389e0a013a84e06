import { number, plural } from '../../ops/words/format.ts';
import { isBlank, StoredText } from '../../page/parts/stored-text.tsx';
import { Time } from '../../page/parts/time.tsx';
import type { Screen } from '../../page/visit.ts';
import type { CreatedKey, KeyRecord } from '../keys.ts';
import { unbrokenCurlLine, exampleFor } from '../openapi/example-requests.ts';
import { PERMISSIONS } from '../service-operations.ts';
import {
  ListTable,
  type Column,
  hrefWith,
  NextPage,
  pageOfAll,
  Confirmed,
  Notice,
  PanelForm,
  ActButton,
  ShownOnce,
  sentInto,
  type SandboxVisit,
} from './parts.tsx';

export function keysScreen(visit: SandboxVisit): Screen {
  const { sandbox, base, url } = visit;
  const { rows, next } = pageOfAll(sandbox.keys.list().toReversed(), url);
  const { plan } = sandbox.limits;
  return {
    title: 'API keys',
    current: '/keys',
    content: (
      <>
        <NewKeyForm visit={visit} />
        <div id="live">
          <p id="plan">
            {plan === null ? 'The plan has custom limits.' : `The plan is ${plan}.`}{' '}
            {rows.every(({ id }) => sandbox.limits.use(id).length === 0) && 'It has no limits.'}
          </p>
          {rows.length === 0 ? (
            <Notice>No keys yet, so every request gets a 401 response.</Notice>
          ) : (
            <KeysTable visit={visit} keys={rows} />
          )}
          {next !== null && <NextPage href={hrefWith(`${base}/keys`, { from: next })} />}
        </div>
      </>
    ),
  };
}

function NewKeyForm({ visit }: { readonly visit: SandboxVisit }) {
  const sent = sentInto(visit, '/keys');
  return (
    <PanelForm visit={visit} to="/keys" label="Create a key" submit="Create key">
      <label class="field">
        <span>Name</span>
        <input type="text" name="name" value={sent?.('name')[0]} maxlength={200} autocomplete="off" />
      </label>
      <fieldset class="choices">
        <legend>Permissions</legend>
        {PERMISSIONS.map((permission) => (
          <label>
            <input
              type="checkbox"
              name="permissions"
              value={permission}
              checked={sent?.('permissions').includes(permission) ?? true}
            />{' '}
            {permission}
          </label>
        ))}
      </fieldset>
      <label class="field">
        <span>Expires after (such as 30 d or 12 h; empty for never)</span>
        <input type="text" name="expires" value={sent?.('expires')[0]} maxlength={50} autocomplete="off" />
      </label>
    </PanelForm>
  );
}

function KeysTable({ visit, keys }: { readonly visit: SandboxVisit; readonly keys: readonly KeyRecord[] }) {
  const { sandbox, now } = visit;
  const hasLimits = keys.some(({ id }) => sandbox.limits.use(id).length > 0);
  const use: Column<KeyRecord> = {
    label: 'used',
    cell: ({ id }) =>
      sandbox.limits
        .use(id)
        .map(({ used, most, length }) => `${number(used)} of ${number(most)} per ${length}`)
        .join(', '),
  };
  return (
    <ListTable
      id="keys-list"
      rows={keys}
      idOf={({ id }) => `key-${id}`}
      columns={[
        { label: 'name', cell: ({ name }) => <StoredText text={name} atMost={100} /> },
        { label: 'id', cell: ({ id }) => <code>{id}</code> },
        { label: 'permissions', cell: ({ permissions }) => permissionsInWords(permissions) },
        { label: 'created', cell: ({ createdAt }) => <Time at={createdAt} now={now} /> },
        { label: 'expires', cell: (key) => <Expiry at={key.expiresAt} now={now} /> },
        ...(hasLimits ? [use] : []),
        { label: 'action', isActs: true, cell: (key) => <KeyActs visit={visit} apiKey={key} /> },
      ]}
    />
  );
}

function Expiry({ at, now }: { readonly at: Date | null; readonly now: Date }) {
  if (at === null) return <>never</>;
  return (
    <>
      {at <= now && <span class="state state-dead">expired</span>} <Time at={at} now={now} />
    </>
  );
}

function KeyActs({ visit, apiKey: { id, name } }: { readonly visit: SandboxVisit; readonly apiKey: KeyRecord }) {
  return (
    <>
      <ActButton visit={visit} to={`/keys/${id}/rotate`} label={`Rotate the key ${id}`} says={`Rotate the key ${id}`}>
        Rotate
      </ActButton>
      <Confirmed
        visit={visit}
        to={`/keys/${id}/delete`}
        what={`Delete the key ${nameOf({ id, name })}`}
        warning="Requests that use this key will get a 401 response."
      />
    </>
  );
}

function nameOf({ id, name }: Pick<KeyRecord, 'id' | 'name'>): string {
  return isBlank(name) ? id : name;
}

function permissionsInWords(permissions: KeyRecord['permissions']): string {
  if (permissions.length === PERMISSIONS.length) return 'all';
  return permissions.length === 0 ? 'none' : permissions.join(', ');
}

export function createdKeyScreen(visit: SandboxVisit, { id, key, name, permissions }: CreatedKey): Screen {
  const request = exampleFor(permissions);
  return {
    title: 'New API key',
    current: '/keys',
    content: (
      <ShownOnce
        value={key}
        what={`The key ${nameOf({ id, name })}`}
        note={`It has ${permissions.length === PERMISSIONS.length ? 'all permissions' : plural(permissions.length, 'permission')}. Send the key alone in the Authorization header, without a scheme:`}
        {...(request !== null && { example: unbrokenCurlLine(visit.service, request, key) })}
        back={{ href: `${visit.base}/keys`, label: 'Back to the keys' }}
      />
    ),
  };
}
