import type { ExportedEvent, ExportedMark } from './export-format.ts';
import type { EventFilter } from './filter.ts';

/** The numbers of events in an import, by result. */
export interface ImportCounts {
  readonly imported: number;
  /** Events that were already in the inbox with the same body; they did not change. */
  readonly known: number;
  /** Events that were already in the inbox with a different body; they did not change. */
  readonly different: number;
}

/** What is to be taken in, as `importedEvent` has it: the newest event of an entity that was processed is marked. */
export type ImportRecord =
  | { readonly event: ExportedEvent; readonly raisesMark: boolean; readonly trusted: boolean }
  | { readonly mark: ExportedMark };

/** Some lines of an export, without line endings, and how much they tell. */
export interface ExportPage {
  readonly lines: readonly string[];
  readonly events: number;
  readonly marks: number;
}

export interface Transfer {
  /**
   * Returns the lines of an export between its first and last line, a few at a time, oldest events first. Events that
   * arrive later are not included. Without a filter, high-water marks follow the events. With a filter, an import
   * derives the marks from the events.
   */
  exportPages(filter: EventFilter): AsyncGenerator<ExportPage, void>;
  /**
   * Imports events in one transaction, in the given order.
   *
   * @param options - the audit line whose counts grow; a dry run only checks which events exist
   */
  importSome(
    records: readonly ImportRecord[],
    options?: { readonly audit?: number; readonly dryRun?: boolean },
  ): Promise<ImportCounts>;
  /** Returns the maximum size, in bytes, that a copy of the live file can have. */
  bytes(): Promise<number>;
  /** Copies the live file to a path that must not exist yet. Returns the size of the copy in bytes. */
  backup(file: string): Promise<number>;
}
