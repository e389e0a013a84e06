import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const { resolve } = createRequire(import.meta.url);
const read = (name: string): string => readFileSync(resolve(`heroicons/${name}`), 'utf8');

function icon(name: string): string {
  return read(`16/solid/${name}.svg`)
    .replace(/<svg [^>]*>/, '')
    .replace('</svg>', '')
    .replaceAll(/\n\s*/g, '');
}

/** Heroicons. The build copies the texts into this module (`compile-in.ts`). */
export const ICONS = {
  add: icon('plus'),
  account: icon('user-circle'),
  actions: icon('ellipsis-horizontal'),
  audit: icon('clipboard-document-list'),
  bulks: icon('square-3-stack-3d'),
  clock: icon('clock'),
  close: icon('x-mark'),
  copy: icon('square-2-stack'),
  dead: icon('exclamation-triangle'),
  deliveries: icon('paper-airplane'),
  discard: icon('archive-box'),
  done: icon('check'),
  down: icon('chevron-down'),
  events: icon('queue-list'),
  export: icon('arrow-down-tray'),
  faults: icon('bolt'),
  filter: icon('funnel'),
  health: icon('signal'),
  key: icon('key'),
  link: icon('link'),
  maintenance: icon('wrench-screwdriver'),
  orders: icon('shopping-bag'),
  overview: icon('chart-bar'),
  pause: icon('pause'),
  pauses: icon('pause-circle'),
  play: icon('play'),
  rejected: icon('no-symbol'),
  rerun: icon('arrow-path'),
  search: icon('magnifying-glass'),
  stock: icon('archive-box'),
  stop: icon('stop'),
  views: icon('bookmark'),
  webhooks: icon('arrows-right-left'),
};

export const ICONS_LICENSE = read('LICENSE');
