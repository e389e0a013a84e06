import { InvalidArgumentError, Option, type Command } from 'commander';
import { eventTypes, isEventType } from '../../events/event-types.ts';
import { whyNoPath } from '../../host/files.ts';
import { isLoopback } from '../../host/loopback.ts';
import { isPostgresUrl, isUrl, shownDatabase } from '../../host/postgres-url.ts';
import { inboxOptions } from '../../host/shell-words.ts';
import { didYouMean as nearestOf } from '../../nearest.ts';
import { parseTime } from '../../ops/words/read-time.ts';
import { GROUP } from './command.ts';
import { usageError, tell } from './output.ts';
import { withSecret, type SecretOptions } from './secret.ts';

export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const bounds = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Use a whole number ${bounds}.`);
  };
}

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('Use a number above 0.');
}

export function collected(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

export function oneFrom<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return (text) => {
    const value = values.find((each) => each === text);
    if (value === undefined) throw new InvalidArgumentError(`Use one of: ${values.join(', ')}.`);
    return value;
  };
}

export function collectedFrom<Value extends string>(
  values: readonly Value[],
): (text: string, before?: readonly Value[]) => readonly Value[] {
  const read = oneFrom(values);
  return (text, before = []) => [...before, read(text)];
}

export interface DbOptions {
  readonly db: string;
  /** default: `hookbox` */
  readonly schema?: string;
}

const USUAL_FILE = 'hookbox.db';

export function withDb(command: Command, what = 'the inbox', note = '; opening an older file upgrades it'): Command {
  return withInboxAt(command, `${what}: a file, or postgres://…${note}`, USUAL_FILE);
}

export function withOptionalDb(command: Command, what: string): Command {
  return withInboxAt(command, `${what}: a file, or postgres://…`);
}

/** Every user of the machine can see a password in an argument, so a variable can have it instead. */
function withInboxAt(command: Command, description: string, usual?: string): Command {
  const db = new Option('--db <inbox>', description).env('HOOKBOX_DB').argParser(pathOrUrl).default(usual);
  return command
    .optionsGroup(GROUP.inbox)
    .addOption(db)
    .option('--schema <name>', 'the Postgres schema (default: hookbox)');
}

/** Any other value would name a wrong file in this folder. */
function pathOrUrl(db: string): string {
  const why = isUrl(db) ? null : whyNoPath(db);
  if (why === null) return db;
  throw new InvalidArgumentError(why);
}

/** Throws for any other URL, without quoting its password. */
export function isInPostgres({ db, schema }: DbOptions): boolean {
  if (isPostgresUrl(db)) return true;
  if (isUrl(db)) {
    throw usageError('--db must be the path of a file, or a URL that begins with postgres:// or postgresql://.');
  }
  if (schema !== undefined)
    throw usageError('--schema needs an inbox in Postgres, but --db names a file. Remove --schema.');
  return false;
}

export function shownInbox({ db }: Pick<DbOptions, 'db'>): string {
  return shownDatabase(db);
}

/** Omits the URL of HOOKBOX_DB, because it may contain a password. */
export function namedInbox({ db, schema }: DbOptions): Partial<DbOptions> {
  const isKnown = isPostgresUrl(db) && db === process.env['HOOKBOX_DB'];
  return { ...(!isKnown && { db: shownDatabase(db) }), ...(schema !== undefined && { schema }) };
}

/** Names the inbox only if the command would otherwise use another one. */
export function commandText(options: DbOptions, ...words: readonly (string | number)[]): string {
  return [...words, ...neededInbox(options)].join(' ');
}

export function neededInbox(options: DbOptions): readonly string[] {
  const { db, ...named } = namedInbox(options);
  return inboxOptions(options.db === (process.env['HOOKBOX_DB'] ?? USUAL_FILE) ? named : { db, ...named });
}

export interface WideOptions {
  readonly wide?: boolean;
}

export function withWide(command: Command): Command {
  return command
    .optionsGroup(GROUP.output)
    .option('--wide', 'do not shorten columns to fit the terminal; output to a pipe is never shortened');
}

export function withHeader(command: Command): Command {
  return command.option(
    '--header <header>',
    "add or replace a header, written as 'Name: value'; @file reads one header per line and keeps passwords out of " +
      'the arguments (repeatable)',
    collected,
  );
}

const USUAL_PORT = 3000;

export function withReceiverPort(command: Command, what: string): Command {
  const option = new Option('--port <n>', what).argParser(wholeNumber(0, 65_535)).default(USUAL_PORT);
  return command.addOption(process.env['PORT'] === '' ? option : option.env('PORT'));
}

export function usualTarget(): string {
  const port = Number(process.env['PORT']);
  const isPort = Number.isInteger(port) && port > 0 && port <= 65_535;
  return `http://localhost:${isPort ? port : USUAL_PORT}/webhooks`;
}

/** `2h` ago, `14:00`, a date, or a date-time; without a zone it is UTC. */
export function timeOption(option: string, text: string, now = Date.now()): Date {
  const time = parseTime(text, now);
  if (time !== null) return time;
  throw usageError(
    `${option} ${JSON.stringify(text)} must be a time: an age such as 2h or 7d, a time such as 14:00, or an ISO 8601 date.`,
  );
}

export function optionalTime(name: string, text: string | undefined): Date | undefined {
  const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  return text === undefined ? undefined : timeOption(flag, text);
}

export function present<Values extends object>(
  values: Values,
): { readonly [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as typeof values;
}

export interface SendingOptions extends SecretOptions {
  readonly to: string;
  readonly concurrency: number;
  readonly header?: readonly string[];
  readonly unsigned?: boolean;
  readonly allowRemote?: boolean;
  readonly json?: boolean;
}

export function withTarget(command: Command): Command {
  return withSecret(
    command
      .addOption(new Option('--to <url>', 'deliver to this address').env('HOOKBOX_URL').default(usualTarget()))
      .option('--unsigned', 'send no X-Signature, as for an account without a secret')
      .option('--allow-remote', 'allow deliveries to other machines'),
  );
}

export function withSending(command: Command): Command {
  const sending = withTarget(command.optionsGroup(GROUP.delivery)).option(
    '--concurrency <n>',
    'how many deliveries to send at the same time',
    wholeNumber(1, 1_000),
    1,
  );
  return withHeader(sending).optionsGroup(GROUP.output).option('--json', 'print one line of JSON per delivery');
}

/** Allows only this machine unless `allowRemote`: events sent by mistake must not reach a live shop. */
export function targetOf(text: string, allowRemote: boolean): URL {
  const whole = withScheme(text);
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`${JSON.stringify(text)} is not an http or https URL.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('The URL must not contain a user name or password, because URLs end up in logs.');
  }
  if (!allowRemote && !isLoopback(url.hostname)) {
    throw usageError(`${url.host} is another machine. Add --allow-remote to allow it.`);
  }
  return url;
}

export function withScheme(text: string): string {
  return HOST_AND_PORT.test(text) ? `http://${text}` : text;
}

/** Without a port, the text may be a file name. */
const HOST_AND_PORT = /^(?:[\w.-]+|\[[\da-f:.]+\]):\d+(?:[/?#]|$)/i;

export function didYouMean(typed: string, types: readonly string[]): string {
  return nearestOf(typed, types) ?? `The types are: ${types.join(', ')}.`;
}

export function tellUnknownTypes(types: readonly string[] = []): void {
  for (const unknown of types.filter((each) => !isEventType(each))) {
    tell(`${JSON.stringify(unknown)} is not a known type. ${didYouMean(unknown, eventTypes)}`);
  }
}
