import type { EventFilter } from '../../inbox/operator/search.ts';
import { EXPORT_FORMATS, exportFormats } from '../../ops/export.ts';
import type { Visit } from '../visit.ts';
import { filterFields, hrefOf } from './filter-fields.ts';
import { Icon } from './icon.tsx';

interface MenuParts {
  readonly visit: Visit;
  readonly id: string;
  readonly what: string;
  readonly label?: string;
  readonly isOpen?: boolean;
  /** a button with a sheet, which nothing clips */
  readonly isMenu?: boolean;
  readonly filter?: EventFilter;
}

/** With a filter, links for its events; without one, buttons for the selection in the form around the menu. */
export function ExportMenu({ visit, id, what, label, isOpen = false, isMenu = false, filter }: MenuParts) {
  if (!mayExport(visit)) return <></>;
  const to = `${visit.base}/maintenance/export`;
  const formats = (
    <ul>
      {exportFormats.map((format) => (
        <li>
          {filter === undefined ? (
            <button type="submit" name="format" value={format}>
              {EXPORT_FORMATS[format]}
            </button>
          ) : (
            <a href={hrefOf(to, [...filterFields(filter), ['format', format === 'exact' ? null : format]])} download>
              {EXPORT_FORMATS[format]}
            </a>
          )}
        </li>
      ))}
    </ul>
  );
  return (
    <details class={isMenu ? 'menu' : 'export'} id={id} open={isOpen}>
      <summary aria-label={label === undefined ? undefined : `Export ${what}: ${label}`}>
        {isMenu && <Icon name="export" />}
        Export{what === '' ? '' : ` ${what}`}…
      </summary>
      {isMenu ? <div class="sheet">{formats}</div> : formats}
    </details>
  );
}

/** Masked values must not leave the page in a file. */
export function mayExport({ visitor, masks }: Visit): boolean {
  return visitor.role === 'operator' && !masks;
}
