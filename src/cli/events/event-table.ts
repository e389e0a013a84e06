import type { EventSummary } from '../../ops/index.ts';
import { growingTable, type Cell } from '../shared/table.ts';
import { errorText, idText, lineWidth, timeText, orDash, stateCell } from './event-texts.ts';

/** Prints events as rows, pages of them one after the other. */
export function eventTable(): (events: readonly EventSummary[]) => void {
  const rows = growingTable(['received', 'id', 'type', 'entity', 'state', 'attempts', 'last error'], lineWidth());
  return (events) => rows(events.map(rowOf));
}

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
