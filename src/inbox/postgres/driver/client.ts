/** The part of a `pg` connection that hookbox uses. Any version with it fits. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
}

/** A connection from a pool, or one that your `connect` function opened. */
export interface PostgresConnection extends PostgresClient {
  /** `true` if the connection accepts a query before it has answered earlier queries. */
  readonly pipeline?: boolean;
  /**
   * Returns `T` in a transaction, `E` in a failed transaction, and `I` outside a transaction. Absent in older versions
   * of `pg`.
   */
  getTransactionStatus?(): string | null;
  on(event: 'error', listener: (failure: Error) => void): unknown;
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  removeListener(event: 'error', listener: (failure: Error) => void): unknown;
  removeListener(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  /** Returns the connection to its pool or, with `true`, destroys it. */
  release?(destroy?: boolean): void;
  /** Closes a connection that belongs to no pool. */
  end?(): Promise<void>;
}

/** A notice from Postgres. */
export interface PostgresNotice {
  readonly message?: string | undefined;
  /** The SQLSTATE of the notice. */
  readonly code?: string | undefined;
}

/** The part of a `pg` pool that hookbox uses. */
export interface PostgresPool<Connection extends PostgresConnection = PostgresConnection> {
  /** Takes a connection from the pool. */
  connect(): Promise<Connection>;
  /**
   * The same signature again. A `pg` pool declares two, and TypeScript infers `Connection` correctly only if there are
   * two here as well.
   */
  connect(): Promise<Connection>;
}

/** A query in the form that `pg` accepts. */
export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  /** The name of the prepared statement, on connections that support it. */
  readonly name?: string;
  /** The time after which an unanswered query fails, in milliseconds. */
  readonly query_timeout?: number;
  /** How columns are parsed, regardless of your own `pg` settings. */
  readonly types?: { getTypeParser(oid: number): (text: string) => unknown };
}

/** The result of a query. */
export interface PostgresResult {
  readonly rows: readonly unknown[];
  /** The columns of a row. */
  readonly fields?: readonly { readonly name: string }[];
  readonly rowCount: number | null;
  /** The command that Postgres reports. This is `ROLLBACK` for the `COMMIT` of a failed transaction. */
  readonly command: string;
}
