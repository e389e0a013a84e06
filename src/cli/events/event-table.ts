import type { EventSummary } from '../../ops/index.ts';
import { growingTable, lineWidth, texts, times, type Cell } from '../shared/table.ts';
import type { WideOptions } from '../shared/wide-option.ts';
import { errorText, idText, timeText, orDash, stateCell } from './event-texts.ts';

/** Prints events as rows, pages of them one after the other. */
export function eventTable(options: WideOptions): (events: readonly EventSummary[]) => void {
  const rows = growingTable(HEAD, lineWidth(options));
  return (events) => rows(events.map(rowOf));
}

const HEAD = [times('received'), texts('id'), texts('type'), texts('entity'), 'state', 'attempts', 'last error'];

function rowOf(event: EventSummary): readonly Cell[] {
  return [
    timeText(event.receivedAt),
    idText(event),
    orDash(event.type),
    orDash(event.entity),
    stateCell(event),
    String(event.attempts),
    errorText(event.lastError),
  ];
}
