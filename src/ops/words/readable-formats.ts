/** What an export for people may be: a table for spreadsheets, or JSON that can be read. */
export const readableFormats = ['csv', 'json'] as const;
export type ReadableFormat = (typeof readableFormats)[number];
