import type { PropsWithChildren } from 'hono/jsx';
import type { IconName } from '../../page/parts/icon.tsx';
import { ActDialog, AskButton } from '../../page/parts/dialog.tsx';
import { BodyTree, RawText } from '../../page/parts/body-views.tsx';
import { hrefOf } from '../../page/parts/filter-fields.ts';
import { ActForm, type HiddenFields } from '../../page/parts/form-fields.tsx';
import { OlderLink } from '../../page/parts/list-query.tsx';
import { Menu } from '../../page/parts/menu.tsx';
import { Panel } from '../../page/parts/list-table.tsx';
import { Copyable, StoredText } from '../../page/parts/text.tsx';
import { valuesOf } from '../../page/safety/posted-form.ts';
import type { Visit } from '../../page/visit.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { Delivery, DeliveryState } from '../delivery-list.ts';
import type { Endpoint } from '../endpoints.ts';
import type { OrderSummary } from '../orders.ts';
import type { OrderStatus } from '../resources.ts';

export interface SandboxVisit extends Pick<Visit, 'visitor' | 'base' | 'csrf' | 'url' | 'now'> {
  readonly sandbox: Sandbox;
  /** tells a form that is sent twice */
  readonly sight: string;
  readonly service: string;
  /** a refused form, to show once more as it was filled in */
  readonly sent?: { readonly to: string; readonly form: FormData };
}

export function sentInto({ sent }: SandboxVisit, to: string): ((name: string) => readonly string[]) | undefined {
  return sent?.to === to ? (name) => valuesOf(sent.form, name) : undefined;
}

export function EndpointName({ endpoint }: { readonly endpoint: Endpoint | undefined }) {
  if (endpoint === undefined) return <span class="muted">removed</span>;
  return endpoint.url === null ? <>a receiver in this process</> : <StoredText text={endpoint.url} atMost={120} />;
}

const MOVE_WORDS: Readonly<Record<OrderStatus, string>> = {
  created: 'Create',
  confirmed: 'Confirm',
  ready: 'Mark ready',
  completed: 'Complete',
  cancelled: 'Cancel',
  failed: 'Fail',
};

function moveButton(id: string, to: OrderStatus | undefined) {
  if (to === undefined) return <></>;
  return (
    <button type="submit" name="to" value={to} aria-label={`${MOVE_WORDS[to]} order ${id}`}>
      {MOVE_WORDS[to]}
    </button>
  );
}

/** The form has the current status, so that an outdated form moves nothing. */
export function moveButtons(visit: SandboxVisit, { id, status, moves }: OrderSummary) {
  if (moves.length === 0) return <></>;
  return (
    <div class="row-acts" id={`moves-${id}-${status}`}>
      <SandboxForm visit={visit} to={`/orders/${id}/move`} label={`Move order ${id}`} hidden={[['from', status]]}>
        {moveButton(id, moves[0])}
        {moves.length > 1 && (
          <Menu id={`other-moves-${id}`} icon="actions" label={`Other statuses of order ${id}`}>
            <ul>
              {moves.slice(1).map((to) => (
                <li>{moveButton(id, to)}</li>
              ))}
            </ul>
          </Menu>
        )}
      </SandboxForm>
    </div>
  );
}

export const PAGE = 50;

export function pageOfAll<T>({ url, base }: SandboxVisit, path: string, all: readonly T[]) {
  const given = url.searchParams.get('from') ?? '';
  const from = /^\d{1,9}$/.test(given) ? Number(given) : 0;
  const next = from + PAGE;
  const older = next < all.length && <OlderLink href={`${base}${path}?from=${next}`} />;
  return { rows: all.slice(from, next), older };
}

/** For a list that is read page by page. */
export function pageOfSome<T extends { readonly id: string | number }>(
  { base }: SandboxVisit,
  path: string,
  list: (limit: number) => readonly T[],
  filter: Readonly<Record<string, string | null>>,
) {
  const found = list(PAGE + 1);
  const rows = found.slice(0, PAGE);
  const fields = Object.entries({ ...filter, before: String(rows.at(-1)?.id) });
  return { rows, older: found.length > PAGE && <OlderLink href={hrefOf(`${base}${path}`, fields)} /> };
}

export function retryButton(visit: SandboxVisit, { id, state, tries, event }: Delivery) {
  if (state !== 'dead' && !(state === 'waiting' && tries > 0)) return <></>;
  const says = `Retry ${event.type}${event.about === null ? '' : ` of ${event.about}`}, delivery ${id}`;
  return (
    <div id={`retry-${id}`}>
      <ActButton visit={visit} to={`/deliveries/${id}/retry`} label={`Retry delivery ${id}`} says={says}>
        Retry
      </ActButton>
    </div>
  );
}

type FormParts = PropsWithChildren<{
  readonly visit: SandboxVisit;
  readonly to: string;
  readonly label: string;
  readonly hidden?: HiddenFields;
}>;

export function SandboxForm({ visit, to, label, hidden = [], children }: FormParts) {
  return (
    <ActForm visit={visit} to={to} label={label} hidden={[['sight', visit.sight], ...hidden]}>
      {children}
    </ActForm>
  );
}

export function ActButton({ says, children, ...form }: FormParts & { readonly says?: string }) {
  return (
    <SandboxForm {...form}>
      <button type="submit" aria-label={says}>
        {children}
      </button>
    </SandboxForm>
  );
}

type DialogParts = FormParts & {
  readonly id: string;
  readonly icon: IconName;
  readonly button?: string;
  /** the path of the screen that it is on */
  readonly at?: string;
  readonly danger?: boolean;
};

/** The button that opens a dialog, and the dialog; only operators get them. */
export function SandboxDialog(parts: DialogParts) {
  const { visit, id, icon, to, at = to, label, button = label, danger = false, children } = parts;
  if (visit.visitor.role !== 'operator') return <></>;
  const href = `${visit.base}${at}`;
  return (
    <>
      <form class="asks" method="get" action={href} aria-label={`${button}…`}>
        <AskButton id={id} icon={icon} label={button} danger={danger} />
      </form>
      <ActDialog
        visit={visit}
        id={id}
        isOpen={visit.sent?.to === to}
        title={label}
        to={to}
        back={href}
        button={label}
        danger={danger}
        hidden={[['sight', visit.sight]]}
        fields={children}
      />
    </>
  );
}

type PanelFormParts = FormParts & { readonly title?: string; readonly submit: string };

export function PanelForm({ title, submit, children, ...form }: PanelFormParts) {
  return (
    <SandboxForm {...form}>
      <Panel title={title ?? form.label}>
        {children}
        <p>
          <button type="submit" class="primary">
            {submit}
          </button>
        </p>
      </Panel>
    </SandboxForm>
  );
}

interface ShownOnceParts {
  readonly value: string;
  readonly what: string;
  readonly note: string;
  readonly example?: string | undefined;
  readonly back: readonly [href: string, label: string];
}

export function shownOnce({ value, what, note, example, back: [href, label] }: ShownOnceParts) {
  return (
    <section class="panel" id="shown-once">
      <p role="status">
        <StoredText text={what} atMost={240} />. <strong>Copy it now. It will not be shown again.</strong>
      </p>
      <Copyable text={value} />
      <p>{note}</p>
      {example !== undefined && <Copyable text={example} />}
      <p>
        <a href={href}>{label}</a>
      </p>
    </section>
  );
}

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

export function bodyPanel({ base, url }: SandboxVisit, title: string, path: string, body: Uint8Array) {
  const isRaw = url.searchParams.get('view') === 'raw';
  return (
    <section class="panel body" id="body">
      <h2>{title}</h2>
      {isRaw ? <RawText body={body} /> : <BodyTree body={body} rawHref={`${base}${path}?view=raw`} />}
    </section>
  );
}
