export interface Migration {
  readonly version: number;
  readonly name: string;
  /**
   * The oldest schema version a process must know to work on a file with this one. It grows only with a major version,
   * so that old and new processes share a file while a deploy is under way.
   */
  readonly needs: number;
  readonly sql: string;
}
