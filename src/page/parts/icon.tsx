import { raw } from 'hono/html';
import { ICONS } from '../icon-texts.ts';

export type IconName = keyof typeof ICONS;

/** Only decoration: the words beside it say what it means. */
export function Icon({ name }: { readonly name: IconName }) {
  return raw(ICONS[name]);
}
