import type { Env, Hono } from 'hono';
import { ASSETS } from './asset-texts.ts';

/** A file that pages are shown with. */
export type AssetName = keyof typeof ASSETS;

/** What every page has: the first of them loads the others. */
export const SCRIPTS = ['page.js', 'choice.js', 'keys.js', 'lists.js'] as const satisfies readonly AssetName[];

/** A page's own files. */
export function assetRoutes<E extends Env>(page: Hono<E>, names: readonly AssetName[]): void {
  for (const name of names) {
    const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
    page.get(`/assets/${name}`, (c) => c.body(ASSETS[name], 200, { 'Content-Type': `${type}; charset=utf-8` }));
  }
}
