import type { EventSummary, Wait } from '../../ops/index.ts';
import { oneLine } from '../../printable.ts';
import { stateText, waitInWords } from '../../ops/words/event-words.ts';
import type { Style } from '../shared/output.ts';
import type { Cell } from '../shared/table.ts';

/** A moment as `--since` takes it: `2026-01-01T03:12:07Z`. */
export function timeText(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The state, in a colour that says whether something is wrong. */
export function stateCell(summary: EventSummary): Cell {
  return { text: stateText(summary), style: stateStyle(summary) };
}

/** What colour an event's state has. */
export function stateStyle({ state, failures }: EventSummary): Style {
  if (state === 'dead') return 'red';
  if (state === 'processed') return 'green';
  return state === 'ignored' || failures > 0 ? 'yellow' : 'reset';
}

/** `TypeError: x is not a function`, on one line. */
export function errorText(error: { readonly name: string; readonly message: string } | null): string {
  return error === null ? '' : oneLine(error.message === '' ? error.name : `${error.name}: ${error.message}`);
}

/** A text that others wrote, or `-` without one. */
export function orDash(text: string | null): string {
  return text === null || text === '' ? '-' : oneLine(text);
}

/** The id, with the endpoint where it is another than usual. */
export function idText({ id, endpoint }: { readonly id: string; readonly endpoint: string }): string {
  return endpoint === 'default' ? oneLine(id) : `${oneLine(id)} (${oneLine(endpoint)})`;
}

/** Why an event is not handled yet: `waits behind evt_1, which has failed 15 times`. */
export function waitText(event: EventSummary, wait: Wait, now: Date): string {
  return oneLine(
    waitInWords(event, wait, now)
      .map((part) => (typeof part === 'string' ? part : idText(part)))
      .join(''),
  );
}
