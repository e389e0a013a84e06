import type { PropsWithChildren } from 'hono/jsx';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { heldUp, type HeldUpLanes, heldUpInWords } from '../../ops/pauses.ts';
import { EXPORT_FORMATS, exportFormats } from '../../ops/export.ts';
import type { Visit } from '../visit.ts';
import { filterFields } from './filter-fields.ts';
import { StoredText } from './stored-text.tsx';

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

/** As long as a reason in the audit may be. */
export const MAX_REASON = 1_000;

/** The reason for an action; it stands in the audit. */
export function ReasonField({
  value,
  isRequired = false,
  hasFocus = false,
}: {
  readonly value?: string;
  /** Enter in an empty field then sends nothing, so that one Enter too many does not start the action */
  readonly isRequired?: boolean;
  /** where the page has been opened for this action */
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

/** Warns an operator, before events become due, that no processor takes them for now. */
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

/** A command, or another text that is used elsewhere; the script adds a button that copies it. */
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

interface MenuParts {
  readonly visit: Visit;
  /** its element, so that it stays open when the page is brought up to date */
  readonly id: string;
  /** what is exported, after `Export` */
  readonly what: string;
  /** whose they are, where the menu stands beside others of its kind */
  readonly label?: string;
  readonly isOpen?: boolean;
}

/**
 * An export in each format: of what fits a filter by links, and without one by buttons, of what is chosen in the form that the
 * menu stands in. Only for operators, and not where the page masks something.
 */
export function ExportMenu({
  visit,
  id,
  what,
  label,
  isOpen = false,
  filter,
}: MenuParts & { readonly filter?: EventFilter }) {
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
              <a href={exportHref(to, filter, format)} download>
                {EXPORT_FORMATS[format]}
              </a>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** What is masked leaves the page in no file. */
export function mayExport({ visitor, masks }: Visit): boolean {
  return visitor.role === 'operator' && !masks;
}

function exportHref(to: string, filter: EventFilter, format: (typeof exportFormats)[number]): string {
  const fields = filterFields(filter);
  if (format !== 'exact') fields.push(['format', format]);
  const query = new URLSearchParams(fields).toString();
  return `${to}${query === '' ? '' : `?${query}`}`;
}
