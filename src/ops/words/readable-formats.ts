/** What an export for people may be: a table for spreadsheets, or JSON that can be read. */
export const readableFormats = ['csv', 'json'] as const;
/** The formats of {@link exportReadable}. */
export type ReadableFormat = (typeof readableFormats)[number];

/** Every format of an export; the exact one alone can be imported. */
export const exportFormats = ['exact', 'json', 'csv'] as const;

/** Before a table, so that spreadsheets take it for UTF-8 and not for the encoding of their system: a byte order mark. */
export const SPREADSHEET_MARK = '\ufeff';

/** How each is offered. */
export const EXPORT_FORMATS = {
  exact: 'exact copy, which can be imported',
  json: 'readable JSON',
  csv: 'CSV for a spreadsheet',
} as const satisfies Record<(typeof exportFormats)[number], string>;
