import type { PropsWithChildren } from 'hono/jsx';
import type { Visit } from '../visit.ts';

/** A form that does something: only operators get one, and it sends the token back. */
export function ActForm({
  visit,
  to,
  id,
  label,
  enctype,
  children,
}: PropsWithChildren<{
  readonly visit: Pick<Visit, 'visitor' | 'base' | 'csrf'>;
  /** the path below the base, such as `/bulks` */
  readonly to: string;
  /** for boxes that stand outside of it */
  readonly id?: string;
  /** the accessible name of the form */
  readonly label: string;
  /** for a form that sends a file */
  readonly enctype?: 'multipart/form-data';
}>) {
  if (visit.visitor.role !== 'operator') return <></>;
  return (
    <form id={id} method="post" action={`${visit.base}${to}`} aria-label={label} enctype={enctype}>
      <input type="hidden" name="csrf" value={visit.csrf} />
      {children}
    </form>
  );
}
