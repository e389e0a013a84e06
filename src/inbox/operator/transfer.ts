import type { ExportedEvent, ExportedMark } from './export-format.ts';
import type { EventFilter } from './filter.ts';

/** The numbers of imported lines by result. */
export interface ImportCounts {
  readonly imported: number;
  /** The event with the same body existed; nothing changed. */
  readonly known: number;
  /** An event with the same id and another body existed; nothing changed. */
  readonly different: number;
}

/** What is to be taken in, as `importedEvent` has it: the newest event of an entity that was processed is marked. */
export type ImportRecord =
  | { readonly event: ExportedEvent; readonly raisesMark: boolean; readonly trusted: boolean }
  | { readonly mark: ExportedMark };

/** Some lines of an export, without line ends, and how much they tell. */
export interface ExportPage {
  readonly lines: readonly string[];
  readonly events: number;
  readonly marks: number;
}

export interface Transfer {
  /**
   * The lines of an export between its first and its last one, a few at a time, oldest events first. What is stored
   * later is not among them. Without a filter, the marks of entities follow the events; with one, an import takes them
   * from the events themselves.
   */
  exportPages(filter: EventFilter): AsyncGenerator<ExportPage, void>;
  /**
   * Takes in what was made of the lines of an export, in one transaction and in their order.
   *
   * @param options - the line of the audit whose counts grow with it; a dry run only looks what is here already
   */
  importSome(
    records: readonly ImportRecord[],
    options?: { readonly audit?: number; readonly dryRun?: boolean },
  ): Promise<ImportCounts>;
  /** How large a copy of the live file is at most, in bytes. */
  bytes(): Promise<number>;
  /** Copies the live file to another path, which must not exist. Resolves with its size in bytes. */
  backup(file: string): Promise<number>;
}
