import { number, plural } from '../../ops/words/format.ts';
import { Choices, Field } from '../../page/parts/form-fields.tsx';
import { Menu } from '../../page/parts/menu.tsx';
import { type Column, DataTable } from '../../page/parts/list-table.tsx';
import { isBlank, ShortTime, StoredText } from '../../page/parts/text.tsx';
import type { Screen } from '../../page/visit.ts';
import type { CreatedKey, KeyRecord } from '../keys.ts';
import { unbrokenCurlLine, exampleFor } from '../openapi/example-requests.ts';
import { PERMISSIONS } from '../service-operations.ts';
import { ActButton, pageOfAll, SandboxDialog, SandboxForm, sentInto, shownOnce, type SandboxVisit } from './parts.tsx';

export function keysScreen(visit: SandboxVisit): Screen {
  const { sandbox, now } = visit;
  const { rows, older } = pageOfAll(visit, '/keys', sandbox.keys.list().toReversed());
  const { plan } = sandbox.limits;
  const hasLimits = rows.some(({ id }) => sandbox.limits.use(id).length > 0);
  const use: Column<KeyRecord> = [
    'used',
    ({ id }) =>
      sandbox.limits.use(id).map(({ used, most, length }) => (
        <span class="use">
          {number(used)} of {number(most)} <span class="muted">per {length}</span>
        </span>
      )),
    { 'data-label': 'used', 'data-col': 'used' },
  ];
  return {
    title: 'API keys',
    current: '/keys',
    content: (
      <>
        {newKeyForm(visit)}
        <div id="live">
          <p id="plan" class="muted">
            {plan === null ? 'The plan has custom limits.' : `The plan is ${plan}.`} {!hasLimits && 'It has no limits.'}
          </p>
          <DataTable
            id="keys-list"
            kind="groups"
            none="No keys yet, so every request gets a 401 response."
            rows={rows}
            rowIs={({ id }) => ({ id: `key-${id}` })}
            columns={[
              [
                'name',
                ({ name, id }) => (
                  <>
                    <StoredText text={name} atMost={100} />
                    <span class="id">{id}</span>
                  </>
                ),
                { 'data-col': 'wrap' },
              ],
              ['permissions', permissionsInWords, { 'data-label': 'permissions', 'data-col': 'wrap' }],
              ['created', ({ createdAt }) => <ShortTime at={createdAt} now={now} />],
              ['expires', ({ expiresAt }) => (expiresAt === null ? 'never' : expiry(expiresAt, now))],
              ...(hasLimits ? [use] : []),
              [<span class="unseen">action</span>, (key) => keyActs(visit, key), { 'data-col': 'acts' }],
            ]}
          />
          {older}
        </div>
      </>
    ),
  };
}

function newKeyForm(visit: SandboxVisit) {
  const sent = sentInto(visit, '/keys');
  return (
    <SandboxDialog visit={visit} id="create-key" icon="add" to="/keys" label="Create a key" button="New key">
      <Field label="Name" name="name" value={sent?.('name')[0]} maxlength={200} autocomplete="off" />
      <Choices
        legend="Permissions"
        name="permissions"
        options={PERMISSIONS}
        chosen={sent?.('permissions') ?? PERMISSIONS}
      />
      <Field
        label="Expires after (such as 30 d or 12 h; empty for never)"
        name="expires"
        value={sent?.('expires')[0]}
        maxlength={50}
        autocomplete="off"
      />
    </SandboxDialog>
  );
}

function expiry(at: Date, now: Date) {
  return (
    <>
      {at <= now && <span class="state state-dead">expired</span>} <ShortTime at={at} now={now} />
    </>
  );
}

function keyActs(visit: SandboxVisit, key: KeyRecord) {
  const label = `Rotate the key ${key.id}`;
  const what = `Delete the key ${nameOf(key)}`;
  const warning = 'Requests that use this key will get a 401 response.';
  if (visit.visitor.role !== 'operator') return <></>;
  return (
    <div class="row-acts">
      <ActButton visit={visit} to={`/keys/${key.id}/rotate`} label={label} says={label}>
        Rotate
      </ActButton>
      <Menu id={`more-${key.id}`} icon="actions" label={`Other actions for the key ${key.id}`}>
        <p>{warning}</p>
        <SandboxForm visit={visit} to={`/keys/${key.id}/delete`} label={what}>
          <button class="danger" type="submit">
            <bdi>{what}</bdi>
          </button>
        </SandboxForm>
      </Menu>
    </div>
  );
}

function nameOf({ id, name }: Pick<KeyRecord, 'id' | 'name'>): string {
  return isBlank(name) ? id : name;
}

function permissionsInWords({ permissions }: KeyRecord): string {
  if (permissions.length === PERMISSIONS.length) return 'all';
  return permissions.length === 0 ? 'none' : permissions.join(', ');
}

export function createdKeyScreen(visit: SandboxVisit, created: CreatedKey): Screen {
  const { key, permissions } = created;
  const request = exampleFor(permissions);
  const granted =
    permissions.length === PERMISSIONS.length ? 'all permissions' : plural(permissions.length, 'permission');
  return {
    title: 'New API key',
    current: '/keys',
    content: shownOnce({
      value: key,
      what: `The key ${nameOf(created)}`,
      note: `It has ${granted}. Send the key alone in the Authorization header, without a scheme:`,
      example: request === null ? undefined : unbrokenCurlLine(visit.service, request, key),
      back: [`${visit.base}/keys`, 'Back to the keys'],
    }),
  };
}
