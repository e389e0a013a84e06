import { raw } from 'hono/html';
import { ICONS } from '../icon-texts.ts';

export type IconName = keyof typeof ICONS;

/** Only decoration: the words beside it say what it means. Rows repeat icons, so a page draws each once, in `IconSet`. */
export function Icon({ name }: { readonly name: IconName }) {
  return raw(`<svg class="icon" aria-hidden="true"><use href="#icon-${name}"/></svg>`);
}

const SYMBOLS = Object.entries(ICONS).map(
  ([name, drawing]) => `<symbol id="icon-${name}" viewBox="0 0 16 16">${drawing}</symbol>`,
);

export function IconSet() {
  return raw(`<svg hidden aria-hidden="true">${SYMBOLS.join('')}</svg>`);
}
