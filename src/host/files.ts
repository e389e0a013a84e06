import { closeSync, existsSync, openSync, readlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { InboxOpenError } from '../errors.ts';
import { isUrl } from './postgres-url.ts';

/** A Windows drive has one letter. */
const SCHEME = /^(file|(better-)?sqlite3?|libsql|jdbc):/i;
/** A variable that was not replaced: `${DIR}`, `$DIR`, `%DIR%`, `{{ dir }}`. */
const NOT_PUT_IN = /\$\{|^\$\w|%\w+%|\{\{|^<.*>$/;
/** A missing variable, converted to text. */
const NOTHING = /(^|[\\/])(undefined|null|NaN|\[object \w+\])(\.\w+)?($|[\\/])/;

/** Does not quote the path, because it may contain a password. */
export function whyNoPath(text: string): string | null {
  if (text.trim() === '') return 'The path is empty. Check that its environment variable is set.';
  if (isUrl(text)) return 'The value is a URL, not the path of a file.';
  const scheme = SCHEME.exec(text)?.[0];
  if (scheme !== undefined)
    return `The path starts with ${scheme}; pass the path alone, or ./${scheme}… for a file of that name.`;
  if (text !== text.trim()) return 'The path starts or ends with a space or a line break.';
  if (NOT_PUT_IN.test(text)) return 'The path contains a variable that was not replaced by its value.';
  return NOTHING.test(text)
    ? 'A part of the path is “undefined” or “null”. Check that its environment variable is set.'
    : null;
}

/** The files contain customers' orders, so only their owner may read them unless an administrator allows more. */
export const OWNER_ONLY = 0o600;

/** Runs before SQLite would use the umask. Does not open an existing file, because closing it would release the process's locks on it. */
export function createForOwner(file: string): void {
  if (existsSync(file)) return;
  try {
    closeSync(openSync(file, 'wx', OWNER_ONLY));
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== 'EEXIST') throw failure;
    // Another process was faster, or the path is a link without a target.
    if (!existsSync(file)) createForOwner(resolve(dirname(file), readlinkSync(file)));
  }
}

interface EphemeralHost {
  readonly name: string;
  readonly fate: string;
  readonly frozenBetweenRequests: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

const FUNCTION = { fate: 'each instance has its own temporary disk', frozenBetweenRequests: true };
const CONTAINER = { fate: 'the disk is in memory and is lost with the instance', frozenBetweenRequests: true };

/** From each host's own documentation. */
const HOSTS: readonly (EphemeralHost & { readonly isHere: (variables: Variables, userAgent: string) => boolean })[] = [
  {
    name: 'AWS Lambda',
    ...FUNCTION,
    isHere: ({ AWS_LAMBDA_FUNCTION_NAME: name, AWS_SAM_LOCAL: local }) => isSet(name) && !isSet(local),
  },
  // VERCEL_ENV=development is a developer's machine.
  { name: 'Vercel', ...FUNCTION, isHere: ({ VERCEL, VERCEL_ENV }) => isSet(VERCEL) && VERCEL_ENV !== 'development' },
  {
    name: 'Cloudflare Workers',
    fate: 'the host has no disk',
    frozenBetweenRequests: true,
    isHere: (_, userAgent) => userAgent === 'Cloudflare-Workers',
  },
  { name: 'Deno Deploy', ...FUNCTION, isHere: ({ DENO_DEPLOYMENT_ID: id }) => isSet(id) },
  { name: 'Cloud Run or Cloud Functions', ...CONTAINER, isHere: ({ K_SERVICE: service }) => isSet(service) },
  { name: 'Cloud Run jobs', ...CONTAINER, isHere: ({ CLOUD_RUN_JOB: job }) => isSet(job) },
  { name: 'App Engine', ...CONTAINER, isHere: ({ GAE_ENV }) => GAE_ENV === 'standard' },
  {
    name: 'Azure Functions',
    ...FUNCTION,
    isHere: ({ FUNCTIONS_WORKER_RUNTIME: worker, AZURE_FUNCTIONS_ENVIRONMENT: environment }) =>
      isSet(worker) && environment !== 'Development',
  },
  {
    name: 'Heroku',
    fate: "a restart, at least once a day, clears the dyno's disk",
    frozenBetweenRequests: false,
    isHere: ({ DYNO }) => isSet(DYNO),
  },
];

export function ephemeralHost(variables?: Variables, userAgent?: string): EphemeralHost | null {
  const here = variables ?? globalThis.process?.env ?? {};
  const agent = userAgent ?? globalThis.navigator?.userAgent ?? '';
  return HOSTS.find(({ isHere }) => allowed(() => isHere(here, agent))) ?? null;
}

/** Deno's sandbox may deny a variable. */
function allowed(ask: () => boolean): boolean {
  try {
    return ask();
  } catch {
    return false;
  }
}

/** @throws InboxOpenError `EPHEMERAL_HOST` */
export function assertLasting(inbox: string, ephemeral: boolean): void {
  const host = ephemeral ? null : ephemeralHost();
  if (host === null) return;
  throw new InboxOpenError(
    'EPHEMERAL_HOST',
    `${inbox} would lose events on ${host.name}: ${host.fate}. Keep events in Postgres, with postgresInbox of ` +
      'hookbox/postgres. Or verify deliveries with webhookVerifier and pass their bodies to a durable queue, or ' +
      'run the receiver on a machine with a disk. If loss is acceptable, as in a preview or test, set the option ' +
      `ephemeral: true of ${inbox}.`,
  );
}

function isSet(variable: string | undefined): boolean {
  return variable !== undefined && variable !== '';
}
