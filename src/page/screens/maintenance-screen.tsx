import { Panel } from '../parts/list-table.tsx';
import type { Child } from 'hono/jsx';
import { messageOf } from '../../errors.ts';
import { eventTypes } from '../../events/event-types.ts';
import { LATE, startDeadline, withinDeadline } from '../../host/host-limits.ts';
import { LONGEST_ENDPOINT, prunableStates, type PrunableState } from '../../inbox/event.ts';
import { PING_LIMIT_MS } from '../../inbox/ping.ts';
import type { EraseReport } from '../../inbox/operator/erasing.ts';
import { number, listed, plural } from '../../ops/words/format.ts';
import { leftInLog } from '../../ops/erase.ts';
import { copyingCommand, copyInPostgres } from '../../ops/backup.ts';
import { databaseFaults } from '../../ops/database-faults.ts';
import { oneLine } from '../../printable.ts';
import { StoredText } from '../parts/text.tsx';
import type { Screen, Visit } from '../visit.ts';
import { ActForm, Field, ReasonField, type HiddenFields } from '../parts/form-fields.tsx';
import { ExportMenu } from '../parts/export-menu.tsx';

export async function maintenanceScreen(visit: Visit, preview?: MaintenancePreview): Promise<Screen> {
  return {
    title: 'Maintenance',
    current: '/maintenance',
    content:
      visit.visitor.role === 'operator' ? (
        <>
          {preview !== undefined && previewOf(visit, preview)}
          {[prunePanel, erasePanel, exportPanel, importPanel, backupPanel].map((panel) => panel(visit))}
          {await databasePanel(visit)}
        </>
      ) : (
        <p class="notice">
          Your role is viewer. Only operators can prune, erase, export, import or back up events here.
        </p>
      ),
  };
}

const LOSES = {
  prune:
    'This permanently deletes the bodies, conflicting bodies and error messages of these events. The ids stay, so ' +
    'redeliveries are still recognised.',
  erase:
    'This permanently deletes the bodies, conflicting bodies and error messages of all its events, whatever their state. ' +
    'Erased pending events will never be handled. The ids stay, so redeliveries are still recognised.',
  export: 'Nothing is deleted. The file contains every body, so protect it as you protect the inbox.',
  import: 'Nothing is deleted. Events whose ids are already in the inbox do not change.',
  backup: 'Nothing is deleted. The file is a complete copy with every body, so protect it as you protect the inbox.',
} as const;

function prunePanel(visit: Visit) {
  return (
    <Panel id="prune" title="Prune old events">
      <p>{LOSES.prune}</p>
      <ActForm visit={visit} to="/maintenance/prune" label="Preview a prune">
        <Field
          label="Settled more than this many days ago"
          type="number"
          name="olderThanDays"
          min="0"
          max="36500"
          value="30"
          required
        />
        <fieldset>
          <legend>States</legend>
          {prunableStates.map((state) => (
            <label>
              <input type="checkbox" name="states" value={state} checked={state === 'processed'} /> {state}{' '}
            </label>
          ))}
        </fieldset>
        <Field
          label="Endpoint (empty: all)"
          name="endpoint"
          maxlength={LONGEST_ENDPOINT}
          placeholder="default"
          autocomplete="off"
        />
        <details id="prune-types">
          <summary>Only some types</summary>
          <fieldset>
            <legend>Types (none ticked: all)</legend>
            {eventTypes.map((type) => (
              <label>
                <input type="checkbox" name="types" value={type} /> {type}{' '}
              </label>
            ))}
            <Field label="Another type" name="types" maxlength={200} />
          </fieldset>
        </details>
        {submit('Preview the prune…')}
      </ActForm>
    </Panel>
  );
}

function submit(words: string) {
  return (
    <p class="actions">
      <button type="submit">{words}</button>
    </p>
  );
}

function erasePanel(visit: Visit) {
  return (
    <Panel id="erase" title="Erase an order, cart or product">
      <p>{LOSES.erase}</p>
      <ActForm visit={visit} to="/maintenance/erase" label="Preview an erasure">
        <Field
          label="Its id, or its entity as the page of an event shows it"
          name="entity"
          maxlength={1_000}
          placeholder="order:mer_7:ord_42"
          required
        />
        {submit('Preview the erasure…')}
      </ActForm>
    </Panel>
  );
}

function commandInstead(act: 'export' | 'backup', { named }: Visit) {
  return (
    <p>
      This page masks fields, so it offers no export or backup. Run this command on the server:{' '}
      <code>{copyingCommand(act, named)}</code>
    </p>
  );
}

function exportPanel(visit: Visit) {
  return (
    <Panel id="export" title="Export">
      <p>
        The exact copy has one line of JSON per event, with its body, its state and its attempts. It includes
        tombstones. {LOSES.export}
      </p>
      {visit.masks ? (
        commandInstead('export', visit)
      ) : (
        <>
          <ExportMenu visit={visit} id="export-all" what="all events" filter={{}} isOpen />
          <p class="muted">
            Only the exact export can be imported. To export only some events, filter them on the{' '}
            <a href={`${visit.base}/events`}>Events</a> screen, or select groups on the{' '}
            <a href={`${visit.base}/dead`}>Dead events</a> screen, and export from there.
          </p>
        </>
      )}
    </Panel>
  );
}

const UPLOAD_MIB = 64;

function importPanel(visit: Visit) {
  return (
    <Panel id="import" title="Import">
      <p>
        Here you can import an export file of up to {number(UPLOAD_MIB)} MiB. Import larger files with{' '}
        <code>{copyingCommand('import', visit.named)}</code>. {LOSES.import}
      </p>
      <ActForm visit={visit} to="/maintenance/import" label="Import" enctype="multipart/form-data" byButton>
        <Field label="File" type="file" name="file" accept=".ndjson,.jsonl,application/x-ndjson" required />
        <p>
          <label>
            <input type="checkbox" name="trusted" value="yes" /> Trust the signatures and entities in the file. Select
            this only for an export of your own inbox that was kept private.
          </label>
        </p>
        <p>
          <ReasonField />
        </p>
        {submit('Import the file')}
      </ActForm>
    </Panel>
  );
}

function backupPanel(visit: Visit) {
  const hasFile = visit.operated.inbox.file !== undefined;
  return (
    <Panel id="backup" title="Back up">
      <p>
        {hasFile
          ? `Download a consistent copy of the inbox. The inbox can stay in use. ${LOSES.backup}`
          : copyInPostgres(visit.named)}
      </p>
      {hasFile && visit.masks && commandInstead('backup', visit)}
      {hasFile && !visit.masks && (
        <ActForm visit={visit} to="/maintenance/backup" label="Back up">
          {submit('Download a backup')}
        </ActForm>
      )}
    </Panel>
  );
}

/** The forms above work even if the database does not respond. */
async function databasePanel({ operated: { inbox } }: Visit) {
  if (inbox.operations?.databaseFaults === undefined) return null;
  const deadline = startDeadline(PING_LIMIT_MS);
  const faults = await withinDeadline(databaseFaults(inbox), deadline)
    .catch((failure: unknown) => messageOf(failure))
    .finally(() => deadline.met());
  return (
    <Panel id="database" title="Database">
      {faults === LATE || typeof faults === 'string' ? (
        <p class="warning">
          Postgres did not answer: <StoredText text={faults === LATE ? 'it took more than 2 s' : faults} atMost={500} />
        </p>
      ) : faults.length === 0 ? (
        <p>Autovacuum is on, no transaction has been open for long, and connections are free.</p>
      ) : (
        <ul class="warning">
          {faults.map(({ what, advice }) => (
            <li>
              <StoredText text={what} /> To do: <StoredText text={advice} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

export type MaintenancePreview =
  | {
      readonly act: 'prune';
      readonly olderThanDays: number;
      /** the confirmation applies to the counted events */
      readonly settledBefore: Date;
      readonly states: readonly PrunableState[];
      readonly types: readonly string[];
      readonly endpoint: string;
      readonly count: number;
      readonly again?: Correction;
    }
  | { readonly act: 'erase'; readonly entity: string; readonly report: EraseReport; readonly again?: Correction }
  | { readonly act: 'problem'; readonly message: string };

export interface Correction {
  readonly message: string;
  readonly reason: string;
}

type PreviewOf<Act extends MaintenancePreview['act']> = Extract<MaintenancePreview, { readonly act: Act }>;

function previewOf(visit: Visit, preview: MaintenancePreview) {
  switch (preview.act) {
    case 'problem':
      return (
        <p class="warning" role="alert" id="problem">
          <StoredText text={preview.message} atMost={500} />
        </p>
      );
    case 'prune':
      return prunePreview(visit, preview);
    case 'erase':
      return erasePreview(visit, preview);
  }
}

function prunePreview(visit: Visit, preview: PreviewOf<'prune'>) {
  const { olderThanDays, settledBefore, states, types, endpoint, count, again } = preview;
  const when = olderThanDays === 0 ? 'already settled' : `settled more than ${plural(olderThanDays, 'day')} ago`;
  const ofTypes =
    types.length === 0 ? 'of all types' : `of type ${types.map((type) => oneLine(type, 60)).join(' or ')}`;
  const atEndpoint = endpoint === '' ? '' : `, at the endpoint ${oneLine(endpoint, 60)}`;
  return confirmation(visit, {
    act: 'prune',
    label: 'Confirm the prune',
    count,
    again,
    hidden: [
      ['olderThanDays', String(olderThanDays)],
      ['settledBefore', settledBefore.toISOString()],
      ...states.map((state) => ['states', state] as const),
      ...types.map((type) => ['types', type] as const),
      ...(endpoint === '' ? [] : [['endpoint', endpoint] as const]),
    ],
    toType: 'To confirm, type the number of events',
    button: 'Prune',
    says: (
      <>
        <p>
          {count === 0 ? 'No events match these conditions: ' : `Would prune ${plural(count, 'event')}: `}
          <StoredText text={`${listed(states)}, ${when}, ${ofTypes}${atEndpoint}`} atMost={1_000} />.
        </p>
        {states.some((state) => state !== 'processed') && (
          <p>Dead, ignored and discarded events cannot be rerun after they are pruned.</p>
        )}
      </>
    ),
  });
}

function erasePreview(visit: Visit, { entity, report, again }: PreviewOf<'erase'>) {
  const { erased, inProcessing, logEmptied } = report;
  const left = leftInLog(logEmptied);
  return confirmation(visit, {
    act: 'erase',
    label: 'Confirm the erasure',
    count: erased,
    again,
    hidden: [['entity', entity]],
    toType: 'To confirm, type the name shown above',
    button: 'Erase',
    says: (
      <>
        <p>
          {erased === 0 ? 'The inbox has no data about ' : `Would erase ${plural(erased, 'event')} about `}
          <StoredText text={entity} atMost={300} />.
        </p>
        {inProcessing > 0 && (
          <p>
            {number(inProcessing)} more {inProcessing === 1 ? 'event is' : 'events are'} being processed and would not
            be erased. Erase again when processing has finished.
          </p>
        )}
        {erased + inProcessing === 0 && left !== null && <p>{left}</p>}
      </>
    ),
  });
}

interface ConfirmationParts {
  readonly act: 'prune' | 'erase';
  readonly label: string;
  readonly count: number;
  readonly again: Correction | undefined;
  readonly hidden: HiddenFields;
  readonly toType: string;
  readonly button: string;
  readonly says: Child;
}

function confirmation(visit: Visit, parts: ConfirmationParts) {
  const { act, label, count, again, hidden, toType, button, says } = parts;
  return (
    <Panel id="preview" title="Preview: nothing has been deleted">
      {says}
      {count === 0 ? (
        <p class="muted">Nothing to confirm.</p>
      ) : (
        <ActForm
          visit={visit}
          to={`/maintenance/${act}`}
          label={label}
          hidden={[...hidden, ['confirm', String(count)]]}
          byButton
        >
          <p>{LOSES[act]}</p>
          {again !== undefined && (
            <p class="warning" role="alert" id="again">
              {again.message}
            </p>
          )}
          <p>
            <ReasonField {...(again !== undefined && { value: again.reason })} hasFocus />
          </p>
          <p>
            <label>
              {toType}{' '}
              <input
                type="text"
                name="typed"
                maxlength={1_000}
                inputmode={act === 'prune' ? 'numeric' : undefined}
                autocomplete="off"
                autocapitalize="off"
                spellcheck={false}
                required
              />
            </label>
          </p>
          <p class="actions">
            <a href={`${visit.base}/maintenance`}>Cancel</a>{' '}
            <button type="submit" class="danger">
              {button} {plural(count, 'event')}
            </button>
          </p>
        </ActForm>
      )}
    </Panel>
  );
}
