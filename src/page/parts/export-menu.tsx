import type { EventFilter } from '../../inbox/operator/search.ts';
import { EXPORT_FORMATS, exportFormats } from '../../ops/words/readable-formats.ts';
import type { Visit } from '../visit.ts';
import { filterFields } from './screen-links.ts';

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
