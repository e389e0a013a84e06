import type { Child, PropsWithChildren } from 'hono/jsx';
import { ActForm, Copyable } from '../../page/parts/act-form.tsx';
import { BodyTree, RawText } from '../../page/parts/body-views.tsx';
import { StoredText } from '../../page/parts/stored-text.tsx';
import { valuesOf } from '../../page/safety/posted-form.ts';
import type { Visit } from '../../page/visit.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { Delivery, DeliveryState } from '../delivery-list.ts';
import type { Endpoint } from '../endpoints.ts';
import type { OrderSummary } from '../orders.ts';
import type { OrderStatus } from '../resources.ts';

export interface SandboxVisit extends Pick<Visit, 'visitor' | 'base' | 'csrf' | 'url' | 'now'> {
  readonly sandbox: Sandbox;
  /** unique to this answer; it tells a form that is sent twice */
  readonly sight: string;
  readonly service: string;
  /** a refused form, to show once more as it was filled in */
  readonly sent?: { readonly to: string; readonly form: FormData };
}

/** The values of the fields of a refused form; `undefined` if another form was sent. */
export function sentInto({ sent }: SandboxVisit, to: string): ((name: string) => readonly string[]) | undefined {
  if (sent === undefined || sent.to !== to) return undefined;
  return (name) => valuesOf(sent.form, name);
}

export function EndpointName({ endpoint }: { readonly endpoint: Endpoint | undefined }) {
  if (endpoint === undefined) return <span class="muted">removed</span>;
  return endpoint.url === null ? <>a receiver in this process</> : <StoredText text={endpoint.url} atMost={120} />;
}

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

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => Child;
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
  readonly idOf: (row: Row) => string;
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

/** The legal moves of an order. The form has the current status, so that an outdated form moves nothing. */
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

export const PAGE = 50;

export function hrefWith(path: string, fields: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== null);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** One page of a whole list, and the start of the next page. */
export function pageOfAll<T>(
  all: readonly T[],
  url: URL,
): { readonly rows: readonly T[]; readonly next: string | null } {
  const asked = url.searchParams.get('from') ?? '';
  const from = /^\d{1,9}$/.test(asked) ? Number(asked) : 0;
  const next = from + PAGE;
  return { rows: all.slice(from, next), next: next < all.length ? String(next) : null };
}

export function NextPage({ href }: { readonly href: string }) {
  return (
    <p class="pages" id="older">
      <a href={href} rel="next">
        Older
      </a>
    </p>
  );
}

export function RetryButton({ visit, delivery }: { readonly visit: SandboxVisit; readonly delivery: Delivery }) {
  const { id, state, tries, event } = delivery;
  if (state !== 'dead' && !(state === 'waiting' && tries > 0)) return <></>;
  return (
    <div id={`retry-${id}`}>
      <ActButton
        visit={visit}
        to={`/deliveries/${id}/retry`}
        label={`Retry delivery ${id}`}
        says={`Retry ${event.type}${event.about === null ? '' : ` of ${event.about}`}, delivery ${id}`}
      >
        Retry
      </ActButton>
    </div>
  );
}

/** A form that takes effect once. Only operators get one. */
export function SandboxForm({
  visit,
  to,
  label,
  children,
}: PropsWithChildren<{
  readonly visit: SandboxVisit;
  readonly to: string;
  readonly label: string;
}>) {
  return (
    <ActForm visit={visit} to={to} label={label}>
      <input type="hidden" name="sight" value={visit.sight} />
      {children}
    </ActForm>
  );
}

/** A button for an action that cannot be undone. It has to be opened first. */
export function Confirmed({
  visit,
  to,
  what,
  warning,
}: {
  readonly visit: SandboxVisit;
  readonly to: string;
  /** such as `Delete the key Ada`; the closed button shows the first word */
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

export function usd(amount: number): string {
  return `$${amount.toFixed(2)}`;
}

const MOVE_WORDS: Readonly<Record<OrderStatus, string>> = {
  created: 'Create',
  confirmed: 'Confirm',
  ready: 'Mark ready',
  completed: 'Complete',
  cancelled: 'Cancel',
  failed: 'Fail',
};

type Colour = 'pending' | 'processing' | 'processed' | 'dead' | 'ignored';

/** The style sheet has the colours for the states of events. */
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

export function StateBadge({ state }: { readonly state: OrderStatus | DeliveryState }) {
  return <span class={`state state-${COLOURS[state]}`}>{state}</span>;
}

export function Notice({ id = 'none', children }: PropsWithChildren<{ readonly id?: string }>) {
  return (
    <p class="notice" id={id}>
      {children}
    </p>
  );
}

export function ActButton({
  visit,
  to,
  label,
  says,
  children,
}: PropsWithChildren<{
  readonly visit: SandboxVisit;
  readonly to: string;
  readonly label: string;
  readonly says?: string;
}>) {
  return (
    <SandboxForm visit={visit} to={to} label={label}>
      <button type="submit" aria-label={says}>
        {children}
      </button>
    </SandboxForm>
  );
}

export function PanelForm({
  visit,
  to,
  label,
  title = label,
  submit,
  children,
}: PropsWithChildren<{
  readonly visit: SandboxVisit;
  readonly to: string;
  readonly label: string;
  readonly title?: string;
  readonly submit: string;
}>) {
  return (
    <SandboxForm visit={visit} to={to} label={label}>
      <section class="panel">
        <h2>{title}</h2>
        {children}
        <p>
          <button type="submit" class="primary">
            {submit}
          </button>
        </p>
      </section>
    </SandboxForm>
  );
}

export function Body({
  visit: { base, url },
  title,
  path,
  body,
}: {
  readonly visit: SandboxVisit;
  readonly title: string;
  readonly path: string;
  readonly body: Uint8Array;
}) {
  const isRaw = url.searchParams.get('view') === 'raw';
  return (
    <section class="panel body" id="body">
      <h2>{title}</h2>
      {isRaw ? <RawText body={body} /> : <BodyTree body={body} rawHref={`${base}${path}?view=raw`} />}
    </section>
  );
}
