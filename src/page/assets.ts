import { readFileSync } from 'node:fs';
import type { Env, Hono } from 'hono';

const TYPES = {
  'page.css': 'text/css; charset=utf-8',
  'lists.css': 'text/css; charset=utf-8',
  'sandbox.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'choice.js': 'text/javascript; charset=utf-8',
  'keys.js': 'text/javascript; charset=utf-8',
  'lists.js': 'text/javascript; charset=utf-8',
} as const;

/** A file that pages are shown with. */
export type AssetName = keyof typeof TYPES;

/** What every page has: the first of them loads the others. */
export const SCRIPTS = ['page.js', 'choice.js', 'keys.js', 'lists.js'] as const satisfies readonly AssetName[];

/** A page's own files, which stand beside this one. */
export function assetRoutes<E extends Env>(page: Hono<E>, names: readonly AssetName[]): void {
  for (const name of names) {
    const text = readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
    page.get(`/assets/${name}`, (c) => c.body(text, 200, { 'Content-Type': TYPES[name] }));
  }
}
