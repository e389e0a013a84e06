import type { Child, PropsWithChildren } from 'hono/jsx';
import { ActForm, Copyable } from '../../page/parts/act-form.tsx';
import { StoredText } from '../../page/parts/stored-text.tsx';
import { valuesOf } from '../../page/safety/posted-form.ts';
import type { Visit } from '../../page/visit.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { Delivery, DeliveryState } from '../delivery-list.ts';
import type { Endpoint } from '../endpoints.ts';
import type { OrderSummary } from '../orders.ts';
import type { OrderStatus } from '../resources.ts';

/** One request for a screen of the dashboard. */
export interface SandboxVisit extends Pick<Visit, 'visitor' | 'base' | 'csrf' | 'url' | 'now'> {
  readonly sandbox: Sandbox;
  /** in every form of this answer, and in no other answer: it tells a form that comes twice */
  readonly sight: string;
  /** the address of the service, for examples */
  readonly service: string;
  /** a form that was refused: it is shown once more, as it was filled in */
  readonly sent?: { readonly to: string; readonly form: FormData };
}

/** The values of the fields of a refused form; `undefined` if another form was sent. */
export function sentInto({ sent }: SandboxVisit, to: string): ((name: string) => readonly string[]) | undefined {
  if (sent === undefined || sent.to !== to) return undefined;
  return (name) => valuesOf(sent.form, name);
}

/** Where an endpoint is; `undefined` for one that was removed. */
export function EndpointName({ endpoint }: { readonly endpoint: Endpoint | undefined }) {
  if (endpoint === undefined) return <span class="muted">removed</span>;
  return endpoint.url === null ? <>a receiver in this process</> : <StoredText text={endpoint.url} atMost={120} />;
}

/** Names and values; those that are `null` are left out. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, Child>> }) {
  return (
    <dl class="facts">
      {Object.entries(facts)
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A column of a list: its heading, and what stands in it for a row. */
export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => Child;
  /** whether it holds the forms of a row */
  readonly isActs?: boolean;
}

/** A list, on phones one card a row; the first column names the row. */
export function ListTable<Row>({
  id,
  columns: [naming, ...columns],
  rows,
  idOf,
  hrefOf,
}: {
  readonly id: string;
  readonly columns: readonly [Column<Row>, ...Column<Row>[]];
  readonly rows: readonly Row[];
  /** so that live updates know a row again */
  readonly idOf: (row: Row) => string;
  /** where Enter leads from a row that `j` and `k` have chosen */
  readonly hrefOf?: (row: Row) => string;
}) {
  return (
    <table class="list" id={id}>
      <thead>
        <tr>
          <th scope="col">{naming.label}</th>
          {columns.map(({ label }) => (
            <th scope="col">{label}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr id={idOf(row)} data-href={hrefOf?.(row)}>
            <th scope="row">{naming.cell(row)}</th>
            {columns.map(({ label, cell, isActs = false }) => (
              <td data-label={label} class={isActs ? 'actions' : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The legal moves of an order, and no others. The form says from where, so that one that is out of date moves nothing. */
export function MoveButtons({ visit, order }: { readonly visit: SandboxVisit; readonly order: OrderSummary }) {
  const { id, status, moves } = order;
  if (moves.length === 0) return <></>;
  return (
    <div class="actions" id={`moves-${id}-${status}`}>
      <SandboxForm visit={visit} to={`/orders/${id}/move`} label={`Move order ${id}`}>
        <input type="hidden" name="from" value={status} />
        {moves.map((to, n) => (
          <button
            type="submit"
            name="to"
            value={to}
            class={n === 0 ? 'primary' : undefined}
            aria-label={`${MOVE_WORDS[to]} order ${id}`}
          >
            {MOVE_WORDS[to]}
          </button>
        ))}
      </SandboxForm>
    </div>
  );
}

/** Rows that a screen shows at a time. */
export const PAGE = 50;

/** A link to the same screen with other fields in its query; those that are `null` are left out. */
export function hrefWith(path: string, fields: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== null);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** One page of a list that is known as a whole, and where the next one begins; `null` after the last. */
export function pageOfAll<T>(
  all: readonly T[],
  url: URL,
): { readonly rows: readonly T[]; readonly next: string | null } {
  const asked = url.searchParams.get('from') ?? '';
  const from = /^\d{1,9}$/.test(asked) ? Number(asked) : 0;
  const next = from + PAGE;
  return { rows: all.slice(from, next), next: next < all.length ? String(next) : null };
}

/** To what comes after the last row of this page. */
export function NextPage({ href }: { readonly href: string }) {
  return (
    <p class="pages" id="older">
      <a href={href} rel="next">
        Older
      </a>
    </p>
  );
}

/** For a dead letter, and for what has failed and waits. */
export function RetryButton({ visit, delivery }: { readonly visit: SandboxVisit; readonly delivery: Delivery }) {
  const { id, state, tries, event } = delivery;
  if (state !== 'dead' && !(state === 'waiting' && tries > 0)) return <></>;
  return (
    <div id={`retry-${id}`}>
      <SandboxForm visit={visit} to={`/deliveries/${id}/retry`} label={`Retry delivery ${id}`}>
        <button
          type="submit"
          aria-label={`Retry ${event.type}${event.about === null ? '' : ` of ${event.about}`}, delivery ${id}`}
        >
          Retry
        </button>
      </SandboxForm>
    </div>
  );
}

/** A form that does something, once: it says which sight of the page it belongs to. Only operators get one. */
export function SandboxForm({
  visit,
  to,
  label,
  children,
}: PropsWithChildren<{
  readonly visit: SandboxVisit;
  /** the path below the base */
  readonly to: string;
  /** the accessible name of the form */
  readonly label: string;
}>) {
  return (
    <ActForm visit={visit} to={to} label={label}>
      <input type="hidden" name="sight" value={visit.sight} />
      {children}
    </ActForm>
  );
}

/** What takes something away for good asks once more: it has to be opened first. */
export function Confirmed({
  visit,
  to,
  what,
  warning,
}: {
  readonly visit: SandboxVisit;
  readonly to: string;
  /** what is done, such as `Delete the key Ada`; the first word is on what opens it */
  readonly what: string;
  readonly warning: string;
}) {
  if (visit.visitor.role !== 'operator') return <></>;
  return (
    <details class="act">
      <summary>{what.split(' ', 1)}…</summary>
      <p>{warning}</p>
      <SandboxForm visit={visit} to={to} label={what}>
        <button class="danger" type="submit">
          <bdi>{what}</bdi>
        </button>
      </SandboxForm>
    </details>
  );
}

/** A value that is shown this once; it stands in no URL. */
export function ShownOnce({
  value,
  what,
  note,
  example,
  back,
}: {
  readonly value: string;
  readonly what: string;
  readonly note: string;
  readonly example?: string;
  readonly back: { readonly href: string; readonly label: string };
}) {
  return (
    <section class="panel" id="shown-once">
      <p role="status">
        <StoredText text={what} atMost={240} />. <strong>Copy it now. It will not be shown again.</strong>
      </p>
      <Copyable text={value} />
      <p>{note}</p>
      {example !== undefined && <Copyable text={example} />}
      <p>
        <a href={back.href}>{back.label}</a>
      </p>
    </section>
  );
}

/** `$12.50` */
export function usd(amount: number): string {
  return `$${amount.toFixed(2)}`;
}

/** What moves an order there, as a button says it. */
const MOVE_WORDS: Readonly<Record<OrderStatus, string>> = {
  created: 'Create',
  confirmed: 'Confirm',
  ready: 'Mark ready',
  completed: 'Complete',
  cancelled: 'Cancel',
  failed: 'Fail',
};

type Colour = 'pending' | 'processing' | 'processed' | 'dead' | 'ignored';

/** The colours of the states of events, which the style sheet has. */
const COLOURS: Readonly<Record<OrderStatus | DeliveryState, Colour>> = {
  created: 'pending',
  confirmed: 'processing',
  ready: 'processing',
  completed: 'processed',
  cancelled: 'ignored',
  failed: 'dead',
  waiting: 'pending',
  delivered: 'processed',
  dead: 'dead',
  dropped: 'ignored',
};

/** The state of an order or of a delivery as a badge. */
export function StateBadge({ state }: { readonly state: OrderStatus | DeliveryState }) {
  return <span class={`state state-${COLOURS[state]}`}>{state}</span>;
}
