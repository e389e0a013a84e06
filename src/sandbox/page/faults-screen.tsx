import { number, plural } from '../../ops/words/format.ts';
import type { Screen } from '../../page/visit.ts';
import { FAULT_KINDS as DELIVERY_FAULT_KINDS, type FaultKind as DeliveryFaultKind } from '../../sender/faults.ts';
import { OUTAGES } from '../errors.ts';
import { FAULT_KINDS, type FaultKind, type PendingFault } from '../faults.ts';
import { DECLINE_OUTCOMES } from '../payments.ts';
import { OPERATION_NAMES, OPERATIONS } from '../service-operations.ts';
import {
  ActButton,
  ListTable,
  Notice,
  PanelForm,
  hrefWith,
  NextPage,
  pageOfAll,
  sentInto,
  type SandboxVisit,
} from './parts.tsx';

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
          <ServiceFaultForm visit={visit} />
          <DeliveryFaultForm visit={visit} />
        </div>
        <div id="live">
          <Pending visit={visit} />
          <PendingOfDeliveries visit={visit} />
        </div>
      </>
    ),
  };
}

function ServiceFaultForm({ visit }: { readonly visit: SandboxVisit }) {
  const sent = sentInto(visit, '/faults');
  return (
    <PanelForm visit={visit} to="/faults" label="Add an operation fault" submit="Add fault">
      <Choice
        label="Kind"
        name="kind"
        sent={sent}
        options={FAULT_KINDS.map((kind) => [kind, `${kind}: ${WORDS[kind]}`])}
      />
      <Choice
        label="Operation (for the first four kinds)"
        name="operation"
        sent={sent}
        options={[['', 'any'], ...OPERATION_NAMES.map((name) => [name, OPERATIONS[name].title] as const)]}
      />
      <TimesField sent={sent} />
      <Choice
        label="Outage status"
        name="status"
        sent={sent}
        options={[
          ['', 'default'],
          ...Object.entries(OUTAGES).map(([status, what]) => [status, `${status} ${what}`] as const),
        ]}
      />
      <label class="field">
        <span>Delay in milliseconds (for slow)</span>
        <input type="number" name="ms" min={0} value={sent?.('ms')[0]} />
      </label>
      <Choice
        label="Decline reason"
        name="outcome"
        sent={sent}
        options={[['', 'default'], ...DECLINE_OUTCOMES.map((outcome) => [outcome, outcome] as const)]}
      />
    </PanelForm>
  );
}

function DeliveryFaultForm({ visit }: { readonly visit: SandboxVisit }) {
  const sent = sentInto(visit, '/delivery-faults');
  return (
    <PanelForm visit={visit} to="/delivery-faults" label="Add a delivery fault" submit="Add a delivery fault">
      <Choice
        label="Fault for the next attempts"
        name="kind"
        sent={sent}
        options={DELIVERY_FAULT_KINDS.map((kind) => [kind, `${kind}: ${DELIVERY_WORDS[kind]}`])}
      />
      <TimesField sent={sent} />
    </PanelForm>
  );
}

interface Sent {
  readonly sent: ReturnType<typeof sentInto>;
}

function Choice({
  label,
  name,
  sent,
  options,
}: Sent & {
  readonly label: string;
  readonly name: string;
  readonly options: readonly (readonly [value: string, words: string])[];
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select name={name}>
        {options.map(([value, words]) => (
          <option value={value} selected={sent?.(name)[0] === value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function TimesField({ sent }: Sent) {
  return (
    <label class="field">
      <span>How many times</span>
      <input type="number" name="times" min={1} value={sent?.('times')[0] ?? '1'} required />
    </label>
  );
}

function Pending({ visit }: { readonly visit: SandboxVisit }) {
  const { rows, next } = pageOfAll(visit.sandbox.faults.list(), visit.url);
  if (rows.length === 0) {
    return <Notice>No faults of operations are active.</Notice>;
  }
  return (
    <section id="pending">
      <div class="heading">
        <h2>Operation faults</h2>
        <ActButton visit={visit} to="/faults/remove" label="Clear all operation faults">
          Clear all
        </ActButton>
      </div>
      <ListTable
        id="faults"
        rows={rows}
        idOf={({ id }) => `fault-${id}`}
        columns={[
          { label: 'what', cell: ({ kind }) => `${kind}: ${WORDS[kind]}` },
          { label: 'operation', cell: (fault) => operationInWords(fault) },
          { label: 'with', cell: (fault) => detailInWords(fault) },
          { label: 'times left', cell: ({ timesLeft }) => number(timesLeft) },
          {
            label: 'action',
            isActs: true,
            cell: ({ id }) => (
              <ActButton
                visit={visit}
                to={`/faults/${id}/remove`}
                label={`Clear the fault ${id}`}
                says={`Clear the fault ${id}`}
              >
                Clear
              </ActButton>
            ),
          },
        ]}
      />
      {next !== null && <NextPage href={hrefWith(`${visit.base}/faults`, { from: next })} />}
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

function PendingOfDeliveries({ visit }: { readonly visit: SandboxVisit }) {
  const faults = visit.sandbox.faults.ofDeliveries();
  if (faults.length === 0) {
    return <Notice id="none-of-deliveries">No delivery faults.</Notice>;
  }
  return (
    <section class="panel" id="pending-of-deliveries">
      <h2>Delivery faults</h2>
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
    </section>
  );
}

const MOST_SHOWN = 50;
