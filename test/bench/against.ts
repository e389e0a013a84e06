// Another checkout to compare with, as `--against FOLDER` names it: the same servers and the same load, with the library
// as that folder has built it. Preloaded (node --import against.ts?folder=…) it finds `hookbox` there.
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** This checkout. */
export const ownCheckout = fileURLToPath(new URL('../..', import.meta.url));

/** What has to be preloaded for a process to use another checkout's library. */
export function resolvingFrom(checkout: string | undefined): string[] {
  return checkout === undefined ? [] : [`${import.meta.url}?folder=${encodeURIComponent(checkout)}`];
}

/** The folder, if it can be compared with. */
export function builtCheckout(folder: string): string {
  const checkout = resolve(folder);
  if (!existsSync(sqliteTypes(checkout))) throw new Error(`${folder} is no hookbox that was built (npm run build).`);
  return checkout;
}

/** Whether the inbox of a checkout has a thread, so that `thread: false` makes a difference. */
export function hasThread(checkout: string): boolean {
  return /\bthread\?:/.test(readFileSync(sqliteTypes(checkout), 'utf8'));
}

function sqliteTypes(checkout: string): string {
  return join(checkout, 'dist/src/inbox/sqlite/sqlite-inbox.d.ts');
}

const folder = new URL(import.meta.url).searchParams.get('folder');
if (folder !== null) {
  const parentURL = pathToFileURL(join(folder, 'package.json')).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      /^hookbox(\/|$)/.test(specifier) ? next(specifier, { ...context, parentURL }) : next(specifier, context),
  });
}
