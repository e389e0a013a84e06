import { number, plural } from '../../ops/words/format.ts';
import type { Screen } from '../../page/visit.ts';
import { FAULT_KINDS as DELIVERY_FAULT_KINDS, type FaultKind as DeliveryFaultKind } from '../../sender/faults.ts';
import { OUTAGES } from '../errors.ts';
import { FAULT_KINDS, type FaultKind, type PendingFault } from '../faults.ts';
import { DECLINE_OUTCOMES } from '../payments.ts';
import { OPERATION_NAMES, OPERATIONS } from '../service-operations.ts';
import { ActButton, PanelForm, pageOfAll, sentInto, type SandboxVisit } from './parts.tsx';
import { SelectField, Field } from '../../page/parts/form-fields.tsx';
import { Notice, DataTable, actsColumn, Panel } from '../../page/parts/list-table.tsx';

const WORDS: Readonly<Record<FaultKind, string>> = {
  before: 'outage before the operation is carried out',
  after: 'outage after the operation was carried out',
  'lost-answer': 'operation carried out, but no answer sent',
  slow: 'operation carried out and answered late',
  decline: 'declined payment',
  'fail-order': 'order fails instead of reaching its next status',
};

const DELIVERY_WORDS: Readonly<Record<DeliveryFaultKind, string>> = {
  late: 'sent late, after other deliveries',
  burst: 'held back, then sent together with other deliveries',
  duplicate: 'sent several times',
  'tampered-body': 'one byte of the body changed after signing',
  'tampered-signature': 'one digit of the signature changed',
  cut: 'connection cut partway through the body',
  'slow-body': 'body sent in chunks',
  'lost-answer': 'answer lost',
};

export function faultsScreen(visit: SandboxVisit): Screen {
  return {
    title: 'Faults',
    current: '/faults',
    content: (
      <>
        <div class="columns">
          {serviceFaultForm(visit)}
          {deliveryFaultForm(visit)}
        </div>
        <div id="live">
          {pendingFaults(visit)}
          {pendingDeliveryFaults(visit)}
        </div>
      </>
    ),
  };
}

function serviceFaultForm(visit: SandboxVisit) {
  const sent = sentInto(visit, '/faults');
  const choice = (label: string, name: string, options: readonly (readonly [value: string, words: string])[]) => (
    <SelectField label={label} name={name} value={sent?.(name)[0]} options={options} />
  );
  return (
    <PanelForm visit={visit} to="/faults" label="Add an operation fault" submit="Add fault">
      {choice(
        'Kind',
        'kind',
        FAULT_KINDS.map((kind) => [kind, `${kind}: ${WORDS[kind]}`]),
      )}
      {choice('Operation (for the first four kinds)', 'operation', [
        ['', 'any'],
        ...OPERATION_NAMES.map((name) => [name, OPERATIONS[name].title] as const),
      ])}
      <TimesField sent={sent} />
      {choice('Outage status', 'status', [
        ['', 'default'],
        ...Object.entries(OUTAGES).map(([status, what]) => [status, `${status} ${what}`] as const),
      ])}
      <Field label="Delay in milliseconds (for slow)" type="number" name="ms" min={0} value={sent?.('ms')[0]} />
      {choice('Decline reason', 'outcome', [
        ['', 'default'],
        ...DECLINE_OUTCOMES.map((outcome) => [outcome, outcome] as const),
      ])}
    </PanelForm>
  );
}

function deliveryFaultForm(visit: SandboxVisit) {
  const sent = sentInto(visit, '/delivery-faults');
  return (
    <PanelForm visit={visit} to="/delivery-faults" label="Add a delivery fault" submit="Add a delivery fault">
      <SelectField
        label="Fault for the next attempts"
        name="kind"
        value={sent?.('kind')[0]}
        options={DELIVERY_FAULT_KINDS.map((kind) => [kind, `${kind}: ${DELIVERY_WORDS[kind]}`])}
      />
      <TimesField sent={sent} />
    </PanelForm>
  );
}

function TimesField({ sent }: { readonly sent: ReturnType<typeof sentInto> }) {
  return <Field label="How many times" type="number" name="times" min={1} value={sent?.('times')[0] ?? '1'} required />;
}

function pendingFaults(visit: SandboxVisit) {
  const { rows, older } = pageOfAll(visit, '/faults', visit.sandbox.faults.list());
  if (rows.length === 0) return <Notice>No faults of operations are active.</Notice>;
  return (
    <section id="pending">
      <div class="heading">
        <h2>Operation faults</h2>
        <ActButton visit={visit} to="/faults/remove" label="Clear all operation faults">
          Clear all
        </ActButton>
      </div>
      <DataTable
        id="faults"
        rows={rows}
        rowIs={({ id }) => ({ id: `fault-${id}` })}
        columns={[
          ['what', ({ kind }) => `${kind}: ${WORDS[kind]}`],
          ['operation', operationInWords],
          ['with', detailInWords],
          ['times left', ({ timesLeft }) => number(timesLeft)],
          actsColumn('action', ({ id }: PendingFault) => {
            const label = `Clear the fault ${id}`;
            return (
              <ActButton visit={visit} to={`/faults/${id}/remove`} label={label} says={label}>
                Clear
              </ActButton>
            );
          }),
        ]}
      />
      {older}
    </section>
  );
}

function operationInWords({ kind, operation }: PendingFault): string {
  if (operation !== null) return OPERATIONS[operation].title;
  return kind === 'decline' || kind === 'fail-order' ? '–' : 'any';
}

function detailInWords({ status, ms, outcome }: PendingFault): string {
  if (status !== null) return `status ${status}`;
  if (ms !== null) return `${number(ms)} ms`;
  return outcome ?? '–';
}

const MOST_SHOWN = 50;

function pendingDeliveryFaults(visit: SandboxVisit) {
  const faults = visit.sandbox.faults.ofDeliveries();
  if (faults.length === 0) return <Notice id="none-of-deliveries">No delivery faults.</Notice>;
  return (
    <Panel id="pending-of-deliveries" title="Delivery faults">
      <ol>
        {faults.slice(0, MOST_SHOWN).map(({ kind, timesLeft }) => (
          <li>
            {kind}: {DELIVERY_WORDS[kind]} ({plural(timesLeft, 'more time')})
          </li>
        ))}
      </ol>
      {faults.length > MOST_SHOWN && <p>… and {number(faults.length - MOST_SHOWN)} more after these.</p>}
      <ActButton visit={visit} to="/delivery-faults/remove" label="Clear all delivery faults">
        Clear all delivery faults
      </ActButton>
    </Panel>
  );
}
