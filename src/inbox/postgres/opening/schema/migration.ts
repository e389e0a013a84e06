import type { Tables } from '../../sql/tables.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** the oldest version that a process must know to work on a schema with this one; it grows only with a major version */
  readonly needs: number;
  readonly sql: (tables: Tables) => string;
}
