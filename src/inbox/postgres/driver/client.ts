/** What hookbox asks of a connection of `pg`; one of any version that answers so will do. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresResult>;
}

/** A connection that was taken out of a pool, or opened for hookbox, with what lets go of it. */
export interface PostgresConnection extends PostgresClient {
  /** it takes queries before it has answered those before them */
  readonly pipeline?: boolean;
  /** `T` in a transaction, `E` in one that has failed, `I` in none; an older `pg` does not say */
  getTransactionStatus?(): string | null;
  on(event: 'error', listener: (failure: Error) => void): unknown;
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  removeListener(event: 'error', listener: (failure: Error) => void): unknown;
  removeListener(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  /** gives it back to its pool; with `true` it is thrown away */
  release?(destroy?: boolean): void;
  /** closes one that no pool has */
  end?(): Promise<void>;
}

/** What Postgres says beside an answer. */
export interface PostgresNotice {
  readonly message?: string | undefined;
  /** its SQLSTATE */
  readonly code?: string | undefined;
}

/** What hookbox asks of a pool of `pg`: connections. */
export interface PostgresPool<Connection extends PostgresConnection = PostgresConnection> {
  // Twice, as that of `pg` has a second one with a callback, and TypeScript infers from the last of as many as there are here.
  connect(): Promise<Connection>;
  connect(): Promise<Connection>;
}

/** A query as `pg` takes it. */
export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  /** prepared under this name, on connections where that works */
  readonly name?: string;
  /** in so many milliseconds it has failed, if it is not answered */
  readonly query_timeout?: number;
  /** how columns are read, whatever the merchant's own settings of `pg` are */
  readonly types?: { getTypeParser(oid: number): (text: string) => unknown };
}

export interface PostgresResult {
  readonly rows: readonly unknown[];
  /** the columns of a row */
  readonly fields?: readonly { readonly name: string }[];
  readonly rowCount: number | null;
  /** what Postgres says it has done: `ROLLBACK` may be the answer to COMMIT */
  readonly command: string;
}
