import type { Child } from 'hono/jsx';
import { DataTable, Notice } from '../../page/parts/list-table.tsx';
import type { Screen } from '../../page/visit.ts';
import { FAULT_KINDS as DELIVERY_FAULT_KINDS } from '../../sender/faults.ts';
import { OUTAGES } from '../errors.ts';
import { FAULT_KINDS, type FaultKind } from '../faults.ts';
import { DECLINE_OUTCOMES } from '../payments.ts';
import { OPERATION_NAMES, OPERATIONS } from '../service-operations.ts';
import { activeFaults, DELIVERY_FAULTS, FAULTS } from './fault-words.ts';
import { ActButton, pageOfAll, SandboxForm, sentInto, type SandboxVisit } from './parts.tsx';

export function faultsScreen(visit: SandboxVisit): Screen {
  return {
    title: 'Faults',
    current: '/faults',
    content: (
      <>
        <div id="live">{active(visit)}</div>
        {visit.visitor.role === 'operator' && (
          <div class="fault-kinds">
            <section class="panel" aria-labelledby="of-operations">
              <h2 id="of-operations">Faults of operations</h2>
              <ul class="kinds">
                {FAULT_KINDS.map((kind) => (
                  <KindForm visit={visit} to="/faults" kind={kind} words={FAULTS[kind]} fields={FIELDS[kind]} />
                ))}
              </ul>
            </section>
            <section class="panel" aria-labelledby="of-deliveries">
              <h2 id="of-deliveries">Faults of the next deliveries</h2>
              <ul class="kinds">
                {DELIVERY_FAULT_KINDS.map((kind) => (
                  <KindForm visit={visit} to="/delivery-faults" kind={kind} words={DELIVERY_FAULTS[kind]} fields={[]} />
                ))}
              </ul>
            </section>
          </div>
        )}
      </>
    ),
  };
}

function active(visit: SandboxVisit) {
  const { rows, older } = pageOfAll(visit, '/faults', activeFaults(visit.sandbox));
  if (rows.length === 0) return <Notice>No fault is active.</Notice>;
  return (
    <section id="active">
      <div class="heading">
        <h2>Active faults</h2>
        <ActButton visit={visit} to="/faults/remove" label="End all faults">
          End all
        </ActButton>
      </div>
      <DataTable
        id="faults"
        kind="groups"
        rows={rows}
        rowIs={({ rowId }) => ({ id: rowId })}
        columns={[
          ['fault', ({ title }) => title, { 'data-col': 'event' }],
          ['affects', ({ where }) => where],
          ['with', ({ detail }) => detail],
          ['times left', ({ timesLeft }) => `× ${timesLeft}`],
          [
            <span class="unseen">end</span>,
            ({ title, where, ends }) => (
              <div class="row-acts">
                <ActButton visit={visit} to={ends} label={`End ${title}, ${where}`} says={`End ${title}, ${where}`}>
                  End
                </ActButton>
              </div>
            ),
            { 'data-col': 'acts' },
          ],
        ]}
      />
      {older}
    </section>
  );
}

type KindField = 'operation' | 'status' | 'ms' | 'outcome';

const FIELDS: Readonly<Record<FaultKind, readonly KindField[]>> = {
  before: ['operation', 'status'],
  after: ['operation', 'status'],
  'lost-answer': ['operation'],
  slow: ['operation', 'ms'],
  decline: ['outcome'],
  'fail-order': [],
};

interface KindFormParts {
  readonly visit: SandboxVisit;
  readonly to: string;
  readonly kind: string;
  readonly words: readonly [title: string, what: string];
  readonly fields: readonly KindField[];
}

/** A form has only the fields of its kind. */
function KindForm({ visit, to, kind, words: [title, what], fields }: KindFormParts) {
  const sent = sentInto(visit, to);
  const own = sent?.('kind')[0] === kind ? sent : undefined;
  return (
    <li>
      <SandboxForm visit={visit} to={to} label={`Add ${title}`} hidden={[['kind', kind]]}>
        <p>
          <strong>{title}</strong> <code>{kind}</code>
          <span class="muted">{what}</span>
        </p>
        {fields.map((name) => fieldOf(name, own?.(name)[0]))}
        <label class="times">
          <input
            type="number"
            name="times"
            min={1}
            value={own?.('times')[0] ?? '1'}
            required
            aria-label={`Times: ${title}`}
          />{' '}
          times
        </label>
        <button type="submit" aria-label={`Add ${title}`}>
          Add
        </button>
      </SandboxForm>
    </li>
  );
}

function fieldOf(name: KindField, value: string | undefined): Child {
  switch (name) {
    case 'operation':
      return choice(name, 'Operation', value, [
        ['', 'Any operation'],
        ...OPERATION_NAMES.map((one) => [one, OPERATIONS[one].title] as const),
      ]);
    case 'status':
      return choice(name, 'Status of the answer', value, [
        ['', 'Usual status'],
        ...Object.entries(OUTAGES).map(([status, words]) => [status, `${status} ${words}`] as const),
      ]);
    case 'outcome':
      return choice(
        name,
        'Reason',
        value,
        DECLINE_OUTCOMES.map((outcome) => [outcome, outcome] as const),
      );
    case 'ms':
      return (
        <label class="ms">
          <input type="number" name="ms" min={0} max={600_000} value={value ?? '3000'} required aria-label="Delay" /> ms
        </label>
      );
    default:
      return name satisfies never;
  }
}

function choice(
  name: KindField,
  label: string,
  value: string | undefined,
  options: readonly (readonly [value: string, words: string])[],
) {
  return (
    <select name={name} aria-label={label}>
      {options.map(([option, words]) => (
        <option value={option} selected={option === value}>
          {words}
        </option>
      ))}
    </select>
  );
}
