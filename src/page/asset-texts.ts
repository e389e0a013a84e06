import { readFileSync } from 'node:fs';
import { ICONS_LICENSE } from './icon-texts.ts';

const text = (name: string): string => readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');

/** The build copies the texts into this module (`compile-in.ts`). */
export const ASSETS = {
  'page.css': `${text('page.css')}\n/* Icons: Heroicons\n${ICONS_LICENSE}*/\n`,
  'sandbox.css': text('sandbox.css'),
  'page.js': text('page.js'),
  'lists.js': text('lists.js'),
  'charts.js': text('charts.js'),
};

export type AssetName = keyof typeof ASSETS;
