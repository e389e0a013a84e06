import { bounded } from './format.ts';

/** `(3 dead) Overview`: what is wrong stands first, as tabs are narrow. */
export function withDead(dead: { readonly count: number; readonly more: boolean }, title: string): string {
  return dead.count === 0 ? title : `(${bounded(dead)} dead) ${title}`;
}
