import type { StoredPause } from '../../inbox/rules/pauses.ts';
import { oneLine } from '../../printable.ts';
import type { HeldUp } from '../held-up.ts';
import { listed, plural, timestamp } from './format.ts';
import { typesText } from './watch-words.ts';

/** `order.created is paused since … by ada: the till is down` */
export function pausedInWords({ type, endpoint, since, actor, reason }: StoredPause): string {
  const at = endpoint === 'default' ? '' : ` at ${oneLine(endpoint, 40)}`;
  const why = reason === null ? '' : `: ${oneLine(reason, 300)}`;
  return `${oneLine(type, 80)}${at} was paused by ${oneLine(actor, 60)} at ${timestamp(since)}${why}`;
}

const MOST_ENDPOINTS = 5;

/** Of a pause that may be at another endpoint than was meant; `null` where it is at one that processors name. */
export function strangerInWords(endpoint: string, named: readonly string[]): string | null {
  if (named.length === 0 || named.includes(endpoint)) return null;
  const shown = named.slice(0, MOST_ENDPOINTS).map((each) => oneLine(each, 40));
  const rest = named.length - shown.length;
  const all = listed(rest === 0 ? shown : [...shown, plural(rest, 'other')]);
  return `No running processor handles events of the endpoint ${oneLine(endpoint, 40)}. Running processors handle ${all}.`;
}

/** Why nothing may come of a rerun for now, a sentence for each reason. */
export function heldUpInWords({ paused, hasProcessor, unhandled }: HeldUp): readonly string[] {
  const each = unhandled.length === 1 ? 'its' : 'their';
  return [
    ...paused.map((pause) => `${pausedInWords(pause)}. Its events wait until you resume the type.`),
    ...(hasProcessor ? [] : ['No processor is running. The events wait until you start one.']),
    ...(hasProcessor && unhandled.length > 0
      ? [`No running processor handles ${typesText(unhandled)}: ${each} events are waiting.`]
      : []),
  ];
}
