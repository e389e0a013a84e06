import { Client } from 'pg';
import { answersTable } from '../postgres/answers-table.ts';
import { BenchServer } from '../postgres/bench-server.ts';
import { claimsTable } from '../postgres/claims-table.ts';
import { jobsTable } from '../postgres/jobs-table.ts';
import { storedTable } from '../postgres/stored-table.ts';
import type { Section, Table } from '../table.ts';

/** The inbox on Postgres, on a server of its own that syncs to the disk. */
export const postgres: Table = {
  name: 'postgres',
  section: 'bench:postgres',
  async measure(bench) {
    await using server = await BenchServer.start(bench.folder);
    const sections: Section[] = [];
    for (const measure of [storedTable, jobsTable, answersTable, claimsTable]) {
      sections.push(await measure(bench, server));
    }
    return {
      text: [
        '### Postgres',
        `A server of its own on this machine and its disk (${await described(server)}), with the settings that Postgres comes ` +
          'with; clients and server share the cores. Each measurement has a database of its own; medians of the rounds, ' +
          'taking turns.',
        ...sections.map(({ text }) => text),
      ].join('\n\n'),
      goals: sections.flatMap(({ goals }) => goals),
      disturbed: sections.some(({ disturbed }) => disturbed),
      data: sections.map(({ data }) => data),
    };
  },
};

/** It says itself that it makes things durable. */
async function described(server: BenchServer): Promise<string> {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query<{ readonly text: string }>(
    `SELECT concat_ws(', ', 'Postgres ' || current_setting('server_version'), 'fsync ' || current_setting('fsync'),
       'synchronous_commit ' || current_setting('synchronous_commit')) AS text`,
  );
  await client.end();
  return rows[0]?.text ?? '';
}
