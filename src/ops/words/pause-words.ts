import type { StoredPause } from '../../inbox/operator/pauses.ts';
import { oneLine } from '../../printable.ts';
import { timestamp } from './format.ts';

/** `order.created is paused since … by ada: the till is down` */
export function pausedInWords({ type, endpoint, since, actor, reason }: StoredPause): string {
  const at = endpoint === 'default' ? '' : ` at ${oneLine(endpoint, 40)}`;
  const why = reason === null ? '' : `: ${oneLine(reason, 300)}`;
  return `${oneLine(type, 80)}${at} is paused since ${timestamp(since)} by ${oneLine(actor, 60)}${why}`;
}
