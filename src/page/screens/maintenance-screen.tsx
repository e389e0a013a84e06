import { eventTypes } from '../../events/event-types.ts';
import { LONGEST_ENDPOINT } from '../../inbox/event.ts';
import { prunableStates } from '../../inbox/event.ts';
import { ActForm } from '../parts/act-form.tsx';
import { ExportMenu } from '../parts/export-menu.tsx';
import { number } from '../../ops/words/format.ts';
import { copyingCommand, copyInPostgres } from '../../ops/words/shell-commands.ts';
import { LOSES, Preview, type MaintenancePreview } from './maintenance-preview.tsx';
import { ReasonField } from '../parts/reason-field.tsx';
import type { Screen, Visit } from '../visit.ts';

export { prunableStates } from '../../inbox/event.ts';
export type { MaintenancePreview } from './maintenance-preview.tsx';

/** Prune, erase, export, import and backup: for operators, each with what it would do. */
export async function maintenanceScreen(visit: Visit, preview?: MaintenancePreview): Promise<Screen> {
  const isOperator = visit.visitor.role === 'operator';
  return {
    title: 'Maintenance',
    current: '/maintenance',
    content: isOperator ? (
      <>
        {preview !== undefined && <Preview visit={visit} preview={preview} />}
        <Prune visit={visit} />
        <Erase visit={visit} />
        <Export visit={visit} />
        <Import visit={visit} />
        <Backup visit={visit} />
      </>
    ) : (
      <p class="notice">Your role is viewer. Only operators can prune, erase, export, import or back up events here.</p>
    ),
  };
}

function Prune({ visit }: { readonly visit: Visit }) {
  return (
    <section class="panel" id="prune">
      <h2>Prune old events</h2>
      <p>{LOSES.prune}</p>
      <ActForm visit={visit} to="/maintenance/prune" label="Preview a prune">
        <p>
          <label>
            Settled more than this many days ago{' '}
            <input type="number" name="olderThanDays" min="0" max="36500" value="30" required />
          </label>
        </p>
        <fieldset>
          <legend>States</legend>
          {prunableStates.map((state) => (
            <label>
              <input type="checkbox" name="states" value={state} checked={state === 'processed'} /> {state}{' '}
            </label>
          ))}
        </fieldset>
        <p>
          <label>
            Endpoint (empty: all){' '}
            <input type="text" name="endpoint" maxlength={LONGEST_ENDPOINT} placeholder="default" autocomplete="off" />
          </label>
        </p>
        <details id="prune-types">
          <summary>Only some types</summary>
          <fieldset>
            <legend>Types (none ticked: all)</legend>
            {eventTypes.map((type) => (
              <label>
                <input type="checkbox" name="types" value={type} /> {type}{' '}
              </label>
            ))}
            <label>
              another <input type="text" name="types" maxlength={200} />
            </label>
          </fieldset>
        </details>
        <p class="actions">
          <button type="submit">Preview the prune…</button>
        </p>
      </ActForm>
    </section>
  );
}

function Erase({ visit }: { readonly visit: Visit }) {
  return (
    <section class="panel" id="erase">
      <h2>Erase an order, cart or product</h2>
      <p>{LOSES.erase}</p>
      <ActForm visit={visit} to="/maintenance/erase" label="Preview an erasure">
        <p>
          <label>
            Its id, or its entity name as the Events screen shows it{' '}
            <input type="text" name="entity" maxlength={1_000} placeholder="order:mer_7:ord_42" required />
          </label>
        </p>
        <p class="actions">
          <button type="submit">Preview the erasure…</button>
        </p>
      </ActForm>
    </section>
  );
}

const NO_COPIES = 'This page masks fields, so it offers no export or backup. Run this command on the server: ';

function Export({ visit }: { readonly visit: Visit }) {
  return (
    <section class="panel" id="export">
      <h2>Export</h2>
      <p>
        The file has one line of JSON per event, with the exact body, the state and the attempts. It includes
        tombstones. {LOSES.export}
      </p>
      {visit.masks ? (
        <p>
          {NO_COPIES}
          <code>{copyingCommand('export', visit.named)}</code>
        </p>
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
    </section>
  );
}

/** As much as the page takes in one request; the command takes any size. */
const UPLOAD_MIB = 64;

function Import({ visit }: { readonly visit: Visit }) {
  return (
    <section class="panel" id="import">
      <h2>Import</h2>
      <p>
        Here you can import an export file of up to {number(UPLOAD_MIB)} MiB. Import larger files with{' '}
        <code>{copyingCommand('import', visit.named)}</code>. {LOSES.import}
      </p>
      <ActForm visit={visit} to="/maintenance/import" label="Import" enctype="multipart/form-data">
        <p>
          <label>
            File <input type="file" name="file" accept=".ndjson,.jsonl,application/x-ndjson" required />
          </label>
        </p>
        <p>
          <label>
            <input type="checkbox" name="trusted" value="yes" /> Trust the signatures and entities in the file. Select
            this only for an export of your own inbox that was kept private.
          </label>
        </p>
        <p>
          <ReasonField />
        </p>
        <p class="actions">
          <button type="submit">Import the file</button>
        </p>
      </ActForm>
    </section>
  );
}

function Backup({ visit }: { readonly visit: Visit }) {
  return (
    <section class="panel" id="backup">
      <h2>Back up</h2>
      <BackupForm visit={visit} />
    </section>
  );
}

function BackupForm({ visit }: { readonly visit: Visit }) {
  if (visit.operated.inbox.file === undefined) return <p>{copyInPostgres(visit.named)}</p>;
  return (
    <>
      <p>Download a consistent copy of the inbox. The inbox can stay in use. {LOSES.backup}</p>
      {visit.masks ? (
        <p>
          {NO_COPIES}
          <code>{copyingCommand('backup', visit.named)}</code>
        </p>
      ) : (
        <ActForm visit={visit} to="/maintenance/backup" label="Back up">
          <p class="actions">
            <button type="submit">Download a backup</button>
          </p>
        </ActForm>
      )}
    </>
  );
}
