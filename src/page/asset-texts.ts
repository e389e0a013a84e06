import { readFileSync } from 'node:fs';

const text = (name: string): string => readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');

/** The files that pages are shown with. In the package this module holds their texts itself (`compile-in.ts`). */
export const ASSETS = {
  'page.css': text('page.css'),
  'sandbox.css': text('sandbox.css'),
  'page.js': text('page.js'),
  'lists.js': text('lists.js'),
};

export type AssetName = keyof typeof ASSETS;
