import type { PropsWithChildren } from 'hono/jsx';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { heldUp, type HeldUpLanes, heldUpInWords } from '../../ops/pauses.ts';
import { EXPORT_FORMATS, exportFormats } from '../../ops/export.ts';
import type { Visit } from '../visit.ts';
import { filterFields, hrefOf } from './filter-fields.ts';
import { StoredText } from './stored-text.tsx';

/** A form that does something, with the token; only operators get one. */
export function ActForm({
  visit,
  to,
  id,
  label,
  enctype,
  children,
}: PropsWithChildren<{
  readonly visit: Pick<Visit, 'visitor' | 'base' | 'csrf'>;
  readonly to: string;
  readonly id?: string;
  readonly label: string;
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

export const MAX_REASON = 1_000;

export function ReasonField({
  value,
  isRequired = false,
  hasFocus = false,
}: {
  readonly value?: string;
  /** so that one Enter too many does not start the action */
  readonly isRequired?: boolean;
  readonly hasFocus?: boolean;
}) {
  return (
    <label>
      Reason{' '}
      <input
        type="text"
        name="reason"
        value={value}
        maxlength={MAX_REASON}
        autocomplete="off"
        required={isRequired}
        autofocus={hasFocus}
      />
    </label>
  );
}

export async function heldUpWarning({ operated, now }: Visit, lanes: HeldUpLanes) {
  const words = heldUpInWords(await heldUp(operated.inbox, lanes, now.getTime()));
  return (
    <>
      {words.map((sentence) => (
        <p class="warning held-up">
          <StoredText text={sentence} atMost={600} />
        </p>
      ))}
    </>
  );
}

export function Copyable({ text }: { readonly text: string }) {
  return (
    <p class="copyable">
      <code>{text}</code>{' '}
      <button type="button" data-copy hidden>
        Copy
      </button>
    </p>
  );
}

/**
 * Exports in each format: with a filter, links for its events; without one, buttons for the selection in the form around the
 * menu. Only for operators, and not on a page that masks fields.
 */
export function ExportMenu({
  visit,
  id,
  what,
  label,
  isOpen = false,
  filter,
}: {
  readonly visit: Visit;
  readonly id: string;
  readonly what: string;
  readonly label?: string;
  readonly isOpen?: boolean;
  readonly filter?: EventFilter;
}) {
  if (!mayExport(visit)) return <></>;
  const to = `${visit.base}/maintenance/export`;
  return (
    <details class="export" id={id} open={isOpen}>
      <summary aria-label={label === undefined ? undefined : `Export ${what}: ${label}`}>
        Export{what === '' ? '' : ` ${what}`}…
      </summary>
      <ul>
        {exportFormats.map((format) => (
          <li>
            {filter === undefined ? (
              <button type="submit" name="format" value={format}>
                {EXPORT_FORMATS[format]}
              </button>
            ) : (
              <a href={hrefOf(to, [...filterFields(filter), ...formatField(format)])} download>
                {EXPORT_FORMATS[format]}
              </a>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Masked values must not leave the page in a file. */
export function mayExport({ visitor, masks }: Visit): boolean {
  return visitor.role === 'operator' && !masks;
}

function formatField(format: (typeof exportFormats)[number]): [name: string, value: string][] {
  return format === 'exact' ? [] : [['format', format]];
}
