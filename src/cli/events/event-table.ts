import type { Inbox } from '../../inbox/contract.ts';
import type { EventSummary, Wait } from '../../ops/index.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { oneLine } from '../../printable.ts';
import { dispensable, growingTable, lineWidth, names, texts, times, words, type Cell } from '../shared/table.ts';
import type { WideOptions } from '../shared/wide-option.ts';
import { errorText, idText, timeText, orDash, stateCell } from './event-texts.ts';

/** Why events wait, by their `seq`. */
export type WaitsBySeq = ReadonlyMap<number, Wait>;

/** Prints events as rows, pages of them one after the other. */
export function eventTable(options: WideOptions): (events: readonly EventSummary[], waits?: WaitsBySeq) => void {
  const rows = growingTable(HEAD, lineWidth(options));
  return (events, waits) => rows(events.map((event) => rowOf(event, waits?.get(event.seq))));
}

/** So many of a page are asked about: each takes a few statements. */
const MOST_ASKED = 100;

/** Why those of a page wait that are pending and have not failed. */
export async function waitsOf(inbox: Inbox, events: readonly EventSummary[]): Promise<WaitsBySeq> {
  const asked = events.filter(({ state, failures }) => state === 'pending' && failures === 0).slice(0, MOST_ASKED);
  if (asked.length === 0) return new Map();
  const waits = await operationsOf(inbox).waits(asked, Date.now());
  return new Map(asked.flatMap(({ seq }, n) => (waits[n] ? [[seq, waits[n]]] : [])));
}

const HEAD = [
  dispensable(times('received'), 3),
  names('id'),
  names('type'),
  dispensable(texts('entity'), 1),
  words('state'),
  dispensable('attempts', 2),
  'last error',
];

function rowOf(event: EventSummary, wait: Wait | undefined): readonly Cell[] {
  return [
    timeText(event.receivedAt),
    idText(event),
    orDash(event.type),
    orDash(event.entity),
    waitCell(event, wait),
    String(event.attempts),
    errorText(event.lastError),
  ];
}

/** `pending (behind evt_1)` */
function waitCell(event: EventSummary, wait: Wait | undefined): Cell {
  switch (wait?.reason) {
    case 'behind':
      return { text: `${event.state} (behind ${oneLine(wait.blocker.event.id, 40)})`, style: 'yellow' };
    case 'no processor':
      return { text: `${event.state} (no processor)`, style: 'yellow' };
    default:
      return stateCell(event);
  }
}
