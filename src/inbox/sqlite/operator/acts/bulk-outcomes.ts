import type { ActResult } from '../../../operator/acts.ts';
import type { AlikeEvents, Outcomes } from '../../../rules/bulk-outcome.ts';
import { answer } from '../../../rules/steps.ts';
import type { EventState } from '../../../state.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

interface AlikeRow {
  readonly state: EventState;
  readonly failed: 0 | 1;
  readonly erased: 0 | 1;
  readonly again: 0 | 1;
  readonly count: number;
}

/** What became of the events of bulks. */
export function bulkOutcomes(database: SqliteDatabase): Outcomes {
  return {
    worked(bulk, after, limit) {
      const rows = statement(
        database,
        `SELECT seq, result FROM hookbox_bulk_events
         WHERE bulk = +? AND seq > ? AND result IS NOT NULL ORDER BY seq LIMIT +?`,
      ).all(bulk, after, limit);
      return answer(rows as readonly { readonly seq: number; readonly result: ActResult }[]); // written by noteResult
    },
    standing(seqs, line) {
      // The order of a CROSS JOIN is kept: one look for each.
      const rows = statement(
        database,
        `SELECT state, failures > 0 AS failed, erased_ms IS NOT NULL AS erased,
           EXISTS (SELECT 1 FROM hookbox_event_acts AS a WHERE a.seq = e.seq AND a.audit > ?) AS again, count(*) AS count
         FROM json_each(?) AS acted CROSS JOIN hookbox_events AS e ON e.seq = acted.value
         GROUP BY 1, 2, 3, 4`,
      ).all(line, JSON.stringify(seqs)) as readonly AlikeRow[];
      return answer(rows.map(alike));
    },
  };
}

function alike({ state, failed, erased, again, count }: AlikeRow): AlikeEvents {
  return { state, failed: failed === 1, erased: erased === 1, again: again === 1, count };
}
