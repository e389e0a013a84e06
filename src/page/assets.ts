import { readFileSync } from 'node:fs';
import type { Hono } from 'hono';
import type { PageEnv } from './shell.tsx';

const ASSETS = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
} as const;

/** The page's own two files, which stand beside this one. */
export function assetRoutes(page: Hono<PageEnv>): void {
  for (const [name, contentType] of Object.entries(ASSETS)) {
    const text = readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
    page.get(`/assets/${name}`, (c) => c.body(text, 200, { 'Content-Type': contentType }));
  }
}
