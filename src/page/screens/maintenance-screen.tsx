import type { Child } from 'hono/jsx';
import { eventTypes } from '../../events/event-types.ts';
import { LONGEST_ENDPOINT, prunableStates, type PrunableState } from '../../inbox/event.ts';
import type { EraseReport } from '../../inbox/operator/erasing.ts';
import { number, listed, plural } from '../../ops/words/format.ts';
import { leftInLog } from '../../ops/erase.ts';
import { copyingCommand, copyInPostgres } from '../../ops/backup.ts';
import { oneLine } from '../../printable.ts';
import { ActForm, ExportMenu, ReasonField } from '../parts/act-form.tsx';
import { StoredText } from '../parts/stored-text.tsx';
import type { Screen, Visit } from '../visit.ts';

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

/** What an action of the Maintenance screen would do, or why it was not done. */
export type MaintenancePreview =
  | {
      readonly act: 'prune';
      readonly olderThanDays: number;
      /** what that came to when it was asked: the confirmation means the very events that were counted */
      readonly settledBefore: Date;
      readonly states: readonly PrunableState[];
      /** all types when empty */
      readonly types: readonly string[];
      /** all endpoints when empty */
      readonly endpoint: string;
      /** how many events would be pruned */
      readonly count: number;
      readonly again?: AskedAgain;
    }
  | { readonly act: 'erase'; readonly entity: string; readonly report: EraseReport; readonly again?: AskedAgain }
  | { readonly act: 'problem'; readonly message: string };

/** A confirmation that was not enough. */
export interface AskedAgain {
  /** why it was not */
  readonly message: string;
  /** the reason that came with it */
  readonly reason: string;
}

/** What is lost by an action: there must be no surprises. */
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

/** What an action would do, with the form that does it. */
function Preview({ visit, preview }: { readonly visit: Visit; readonly preview: MaintenancePreview }) {
  switch (preview.act) {
    case 'problem':
      return (
        <p class="warning" role="alert" id="problem">
          <StoredText text={preview.message} atMost={500} />
        </p>
      );
    case 'prune':
      return <PrunePreview visit={visit} {...preview} />;
    case 'erase':
      return <ErasePreview visit={visit} {...preview} />;
  }
}

type PreviewOf<Act extends MaintenancePreview['act']> = Extract<MaintenancePreview, { readonly act: Act }>;

function PrunePreview({
  visit,
  olderThanDays,
  settledBefore,
  states,
  types,
  endpoint,
  count,
  again,
}: PreviewOf<'prune'> & { readonly visit: Visit }) {
  const when = olderThanDays === 0 ? 'already settled' : `settled more than ${plural(olderThanDays, 'day')} ago`;
  const ofTypes =
    types.length === 0 ? 'of all types' : `of type ${types.map((type) => oneLine(type, 60)).join(' or ')}`;
  const atEndpoint = endpoint === '' ? '' : `, at the endpoint ${oneLine(endpoint, 60)}`;
  return (
    <Confirmation found={count}>
      <p>
        {count === 0 ? 'No events match these conditions: ' : `Would prune ${plural(count, 'event')}: `}
        <StoredText text={`${listed(states)}, ${when}, ${ofTypes}${atEndpoint}`} atMost={1_000} />.
      </p>
      {states.some((state) => state !== 'processed') && (
        <p>Dead, ignored and discarded events cannot be rerun after they are pruned.</p>
      )}
      {count > 0 && (
        <ActForm visit={visit} to="/maintenance/prune" label="Confirm the prune">
          <p>{LOSES.prune}</p>
          <input type="hidden" name="olderThanDays" value={String(olderThanDays)} />
          <input type="hidden" name="settledBefore" value={settledBefore.toISOString()} />
          {states.map((state) => (
            <input type="hidden" name="states" value={state} />
          ))}
          {types.map((type) => (
            <input type="hidden" name="types" value={type} />
          ))}
          {endpoint !== '' && <input type="hidden" name="endpoint" value={endpoint} />}
          <Confirm visit={visit} count={count} typed="count" again={again}>
            Prune {plural(count, 'event')}
          </Confirm>
        </ActForm>
      )}
    </Confirmation>
  );
}

function ErasePreview({ visit, entity, report, again }: PreviewOf<'erase'> & { readonly visit: Visit }) {
  const { erased, inProcessing, logEmptied } = report;
  const left = leftInLog(logEmptied);
  return (
    <Confirmation found={erased}>
      <p>
        {erased === 0 ? 'The inbox has no data about ' : `Would erase ${plural(erased, 'event')} about `}
        <StoredText text={entity} atMost={300} />.
      </p>
      {inProcessing > 0 && (
        <p>
          {number(inProcessing)} more {inProcessing === 1 ? 'event is' : 'events are'} being processed and would not be
          erased. Erase again when processing has finished.
        </p>
      )}
      {erased + inProcessing === 0 && left !== null && <p>{left}</p>}
      {erased > 0 && (
        <ActForm visit={visit} to="/maintenance/erase" label="Confirm the erasure">
          <p>{LOSES.erase}</p>
          <input type="hidden" name="entity" value={entity} />
          <Confirm visit={visit} count={erased} typed="entity" again={again}>
            Erase {plural(erased, 'event')}
          </Confirm>
        </ActForm>
      )}
    </Confirmation>
  );
}

function Confirmation({ found, children }: { readonly found: number; readonly children: Child }) {
  return (
    <section class="panel" id="preview">
      <h2>Preview: nothing has been deleted</h2>
      {children}
      {found === 0 && <p class="muted">Nothing to confirm.</p>}
    </section>
  );
}

/** The text that the operator types before anything is lost. */
const TO_TYPE = {
  count: 'To confirm, type the number of events',
  entity: 'To confirm, type the name shown above',
} as const;

/**
 * The count goes back with the confirmation, so that the action does what the page showed. The field is required, so
 * pressing Enter, however often, does nothing.
 */
function Confirm({
  visit,
  count,
  typed,
  again,
  children,
}: {
  readonly visit: Visit;
  readonly count: number;
  readonly typed: keyof typeof TO_TYPE;
  readonly again: AskedAgain | undefined;
  readonly children: Child;
}) {
  return (
    <>
      <input type="hidden" name="confirm" value={String(count)} />
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
          {TO_TYPE[typed]}{' '}
          <input
            type="text"
            name="typed"
            maxlength={1_000}
            inputmode={typed === 'count' ? 'numeric' : undefined}
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
          {children}
        </button>
      </p>
    </>
  );
}
