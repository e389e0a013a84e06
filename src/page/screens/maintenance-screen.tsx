import { eventTypes } from '../../events/event-types.ts';
import { LONGEST_ENDPOINT } from '../../inbox/event.ts';
import { prunableStates } from '../../inbox/operator/removal.ts';
import { ActForm } from '../parts/act-form.tsx';
import { ExportMenu } from '../parts/export-menu.tsx';
import { number } from '../../ops/words/format.ts';
import { copyingCommand, copyInPostgres } from '../../ops/words/shell-commands.ts';
import { LOSES, Preview, type MaintenancePreview } from './maintenance-preview.tsx';
import { ReasonField } from '../parts/reason-field.tsx';
import type { Screen, Visit } from '../visit.ts';

export { prunableStates } from '../../inbox/operator/removal.ts';
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
      <p class="notice">
        Here operators prune old events, erase what is kept about a person’s order, export, import and back up. You look
        on as a viewer.
      </p>
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
            Settled more than so many days ago{' '}
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
            Endpoint; all unless given{' '}
            <input type="text" name="endpoint" maxlength={LONGEST_ENDPOINT} placeholder="default" autocomplete="off" />
          </label>
        </p>
        <details id="prune-types">
          <summary>Only some types</summary>
          <fieldset>
            <legend>Types; all unless some are ticked</legend>
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
      <h2>Erase what is kept about an order, a cart or a product</h2>
      <p>{LOSES.erase}</p>
      <ActForm visit={visit} to="/maintenance/erase" label="Preview an erasure">
        <p>
          <label>
            Its id, or its name as in the list of events{' '}
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

const NO_COPIES =
  'This page masks some fields, so it hands out no copy that has them. Use the command on the machine itself: ';

function Export({ visit }: { readonly visit: Visit }) {
  return (
    <section class="panel" id="export">
      <h2>Export</h2>
      <p>
        Writes each event with its exact bytes, its state and its attempts as a line of JSON; tombstones too.{' '}
        {LOSES.export}
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
            The exact one alone can be imported. For some events only: set a filter on{' '}
            <a href={`${visit.base}/events`}>Events</a>, or begin on <a href={`${visit.base}/dead`}>Dead letters</a>,
            and export from there.
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
        Takes in a file that was exported, of up to {number(UPLOAD_MIB)} MiB; larger ones with{' '}
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
            <input type="checkbox" name="trusted" value="yes" /> It is an export of our own, which nobody else could
            change: keep what it says of signatures and entities.
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
      <p>Copies the inbox as it is at one moment, while deliveries go on, and downloads the copy. {LOSES.backup}</p>
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
