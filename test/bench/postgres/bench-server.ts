import { dirname } from 'node:path';
import { Client } from 'pg';
import { PostgresServer } from '../../helpers/postgres-server.ts';

/** Postgres as it comes, on the disk that the rest of the run is measured on. */
export class BenchServer implements AsyncDisposable {
  readonly #server: PostgresServer;
  #databases = 0;

  private constructor(server: PostgresServer) {
    this.#server = server;
  }

  /** @param folder - of the run; the server has one beside it, as it may have to run under another id */
  static async start(folder: string): Promise<BenchServer> {
    return new BenchServer(await PostgresServer.start({ onDisk: dirname(folder) }));
  }

  /** Where servers make a schema of their own. */
  get url(): string {
    return this.#server.url();
  }

  /** Works on a database in which nothing is, with nothing left to be written of what was there before. */
  async withDatabase<T>(work: (url: string) => Promise<T>): Promise<T> {
    this.#databases += 1;
    const name = `bench_${this.#databases}`;
    await this.#do(`CREATE DATABASE ${name}`, 'CHECKPOINT');
    try {
      return await work(this.#server.url(name));
    } finally {
      await this.#do(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  }

  async #do(...statements: readonly string[]): Promise<void> {
    const client = new Client({ connectionString: this.#server.url() });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
