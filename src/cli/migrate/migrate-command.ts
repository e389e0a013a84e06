import type { Command } from 'commander';
import { command, withNotes } from '../shared/command.ts';
import { withOptionalDb } from '../shared/db-option.ts';
import type { MigrateOptions } from './make-tables.ts';

/** `hookbox migrate` */
export function migrateCommand(): Command {
  const made = command('migrate', 'create or upgrade the tables of an inbox in Postgres', [
    'HOOKBOX_DB=postgres://owner:secret@db.example/shop hookbox migrate',
    'hookbox migrate --db postgres://owner@db.example/shop --print',
    'hookbox migrate --print > hookbox.sql',
  ])
    .option('--print', 'print the SQL of the pending migrations (without --db, of all migrations); change nothing')
    .option('--json', 'print the result as JSON');
  return withNotes(withOptionalDb(made, 'the inbox'), {
    notes: [
      'Run migrate during a deploy if the database role of the receiver cannot create tables. postgresInbox(url, { ' +
        'migrate: false }) leaves migration to this command. Each migration is one transaction; concurrent runs apply it only once. Before you change to a ' +
        'different minor version of hookbox, stop all processes that use the inbox. hookbox migrates a ' +
        'SQLite file when it opens the file.',
      "After each migration, grant these rights to the receiver's role:",
      [
        '  GRANT USAGE ON SCHEMA hookbox TO …;',
        '  GRANT SELECT, INSERT, UPDATE, DELETE',
        '    ON ALL TABLES IN SCHEMA hookbox TO …;',
      ],
      'To grant these rights on all future tables as well, specify the role that runs migrate:',
      [
        '  ALTER DEFAULT PRIVILEGES FOR ROLE … IN SCHEMA hookbox',
        '    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO …;',
      ],
    ],
  }).action(async (options: MigrateOptions) => {
    const { migrate } = await import('./make-tables.ts');
    process.exitCode = await migrate(options);
  });
}
