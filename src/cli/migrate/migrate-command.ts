import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withOptionalDb } from '../shared/db-option.ts';
import type { MigrateOptions } from './make-tables.ts';

/** `hookbox migrate` */
export function migrateCommand(): Command {
  const made = command('migrate', 'make the tables of an inbox in Postgres, or bring them up to date', [
    'HOOKBOX_DB=postgres://owner:secret@db.example/shop hookbox migrate',
    'hookbox migrate --db postgres://owner@db.example/shop --print',
    'hookbox migrate --print > hookbox.sql',
  ])
    .option('--print', 'print the SQL that is missing, and change nothing; all of it where no --db is given')
    .option('--json', 'print what was done as JSON');
  return withOptionalDb(made, 'the inbox')
    .addHelpText(
      'after',
      '\nFor deploys, where the role that receives may not make tables: postgresInbox(url, { migrate: false }) leaves it to\n' +
        'this command. Each step is a transaction of its own, several that migrate at once do it once. Between minor\n' +
        'versions stop all processes first. A file needs none of this: the first process that opens it migrates it.\n' +
        'The role that receives needs: GRANT USAGE ON SCHEMA hookbox TO …; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL\n' +
        'TABLES IN SCHEMA hookbox TO …; after each migration, as tables may be new, or once and for all that are to come:\n' +
        'ALTER DEFAULT PRIVILEGES FOR ROLE … IN SCHEMA hookbox GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO …, where\n' +
        'the first role is the one that migrates.',
    )
    .action(async (options: MigrateOptions) => {
      const { migrate } = await import('./make-tables.ts');
      process.exitCode = await migrate(options);
    });
}
