import type { Inbox } from '../../inbox/contract.ts';
import type { EventSummary, Wait } from '../../ops/index.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { attemptsRun, stateText, waitInWords } from '../../ops/words/event-words.ts';
import { oneLine } from '../../printable.ts';
import type { WideOptions } from '../shared/options.ts';
import type { Style } from '../shared/output.ts';
import { dispensable, growingList, names, texts, times, words, type Cell, type Columns } from '../shared/table.ts';

type WaitsBySeq = ReadonlyMap<number, Wait>;

export function eventTable(options: WideOptions): (events: readonly EventSummary[], waits?: WaitsBySeq) => void {
  let waiting: WaitsBySeq = new Map();
  const columns: Columns<EventSummary> = [
    [dispensable(times('received'), 3), ({ receivedAt }) => timeText(receivedAt)],
    [names('id'), idText],
    [names('type'), ({ type }) => orDash(type)],
    [dispensable(texts('entity'), 1), ({ entity }) => orDash(entity)],
    [words('state'), (event) => stateCell(event, waiting.get(event.seq))],
    [dispensable('attempts', 2), (event) => String(attemptsRun(event))],
    ['last error', ({ lastError }) => errorText(lastError)],
  ];
  const print = growingList(columns, options);
  return (events, waits = new Map()) => {
    waiting = waits;
    print(events);
  };
}

/** `pending (behind evt_1)` */
function stateCell(event: EventSummary, wait: Wait | undefined): Cell {
  if (wait?.reason === 'behind')
    return { text: `${event.state} (behind ${oneLine(wait.blocker.event.id, 40)})`, style: 'yellow' };
  if (wait?.reason === 'no processor') return { text: `${event.state} (no processor)`, style: 'yellow' };
  return { text: stateText(event), style: stateStyle(event) };
}

/** Each event needs several statements. */
const MOST_ASKED = 100;

export async function waitsOf(inbox: Inbox, events: readonly EventSummary[]): Promise<WaitsBySeq> {
  const examined = events.filter(({ state, failures }) => state === 'pending' && failures === 0).slice(0, MOST_ASKED);
  if (examined.length === 0) return new Map();
  const waits = await operationsOf(inbox).waits(examined, Date.now());
  return new Map(examined.flatMap(({ seq }, n) => (waits[n] ? [[seq, waits[n]]] : [])));
}

/** `2026-01-01T03:12:07Z` */
export function timeText(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, 'Z');
}

export function stateStyle({ state, failures }: EventSummary): Style {
  if (state === 'dead') return 'red';
  if (state === 'processed') return 'green';
  return state === 'ignored' || failures > 0 ? 'yellow' : 'reset';
}

/** `TypeError: x is not a function` */
export function errorText(error: { readonly name: string; readonly message: string } | null): string {
  return error === null ? '' : oneLine(error.message === '' ? error.name : `${error.name}: ${error.message}`);
}

export function orDash(text: string | null): string {
  return text === null || text === '' ? '-' : oneLine(text);
}

/** Names the endpoint unless it is `default`. */
export function idText({ id, endpoint }: { readonly id: string; readonly endpoint: string }): string {
  return endpoint === 'default' ? oneLine(id) : `${oneLine(id)} (${oneLine(endpoint)})`;
}

/** `waits behind evt_1, which has failed 15 times` */
export function waitText(event: EventSummary, wait: Wait, now: Date): string {
  return oneLine(
    waitInWords(event, wait, now)
      .map((part) => (typeof part === 'string' ? part : idText(part)))
      .join(''),
  );
}
