import type { PropsWithChildren } from 'hono/jsx';
import { ActForm } from '../../../page/parts/act-form.tsx';
import type { SandboxVisit } from '../sandbox-visit.ts';

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
