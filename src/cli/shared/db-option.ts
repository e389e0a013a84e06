import { InvalidArgumentError, Option, type Command } from 'commander';
import { whyNoPath } from '../../host/files.ts';
import { isPostgresUrl, isUrl, shownDatabase } from '../../host/postgres-url.ts';
import type { NamedInbox } from '../../host/shell-words.ts';
import { GROUP } from './command.ts';
import { usageError } from './exit.ts';

/** Where the inbox is. */
export interface DbOptions {
  readonly db: string;
  /** of one in Postgres; `hookbox` unless given */
  readonly schema?: string;
}

const USUAL_FILE = 'hookbox.db';

/** Adds where the inbox is; without that it is a file of this folder. */
export function withDb(command: Command, what = 'the inbox', note = '; opening an older file upgrades it'): Command {
  return withSchema(command.optionsGroup(GROUP.inbox).addOption(dbOption(what, note).default(USUAL_FILE)));
}

/** Adds where the inbox is, for commands that can do without one. */
export function withOptionalDb(command: Command, what: string): Command {
  return withSchema(command.optionsGroup(GROUP.inbox).addOption(dbOption(what)));
}

/** A URL may have a password in it, which an argument would show to every user of the machine. */
function dbOption(what: string, note = ''): Option {
  return new Option('--db <inbox>', `${what}: a file, or postgres://…${note}`).env('HOOKBOX_DB').argParser(pathOrUrl);
}

/** Refuses a value that is not meant as a path: as a path it would name a wrong file in this folder. */
function pathOrUrl(db: string): string {
  const why = isUrl(db) ? null : whyNoPath(db);
  if (why === null) return db;
  throw new InvalidArgumentError(why);
}

function withSchema(command: Command): Command {
  return command.option('--schema <name>', 'the Postgres schema (default: hookbox)');
}

/**
 * Whether the inbox is in Postgres.
 *
 * @throws CommandError for what is neither a file nor such a URL; it is not quoted, as it may have a password in it
 */
export function isInPostgres({ db, schema }: DbOptions): boolean {
  if (isPostgresUrl(db)) return true;
  if (isUrl(db)) {
    throw usageError('--db must be the path of a file, or a URL that begins with postgres:// or postgresql://.');
  }
  if (schema !== undefined)
    throw usageError('--schema needs an inbox in Postgres, but --db names a file. Remove --schema.');
  return false;
}

/** The inbox as people read of it. */
export function shownInbox({ db }: Pick<DbOptions, 'db'>): string {
  return shownDatabase(db);
}

/**
 * What commands that are offered to copy name the inbox by. A URL that everybody has who has HOOKBOX_DB is left out, as it may
 * have to have the password in it.
 */
export function namedInbox({ db, schema }: DbOptions): Partial<DbOptions> {
  const isKnown = isPostgresUrl(db) && db === process.env['HOOKBOX_DB'];
  return { ...(!isKnown && { db: shownDatabase(db) }), ...(schema !== undefined && { schema }) };
}

/** The same, where the command is for this terminal: without what is meant by itself. */
export function neededInbox(options: DbOptions): NamedInbox {
  const { db, ...named } = namedInbox(options);
  return options.db === (process.env['HOOKBOX_DB'] ?? USUAL_FILE) ? named : { db, ...named };
}
