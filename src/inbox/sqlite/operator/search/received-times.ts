import type { Disorder, ReceivedTimes } from '../../../operator/finding/seq-ranges.ts';
import { answer, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { newestSeq } from '../../sql/newest-seq.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { progressOf, setProgress } from '../noted-progress.ts';

/** Between these two, in hookbox_progress, an import has put events among others that were received at other times. */
const DISORDER_FROM = 'out of order from';
const DISORDER_THROUGH = 'out of order through';

/** When events were received, by their `seq`, on the tables of a file. */
export function receivedTimes(database: SqliteDatabase): ReceivedTimes & Disorder {
  const disorder: ReceivedTimes['disorder'] = () => {
    const through = progressOf(database, DISORDER_THROUGH);
    return answer(through === 0 ? null : { from: progressOf(database, DISORDER_FROM), before: through + 1 });
  };
  return {
    newestSeq: () => answer(newestSeq(database)),
    receivedIn({ from, before }, limit) {
      const sql =
        'SELECT received_ms FROM hookbox_events WHERE seq >= :from AND seq < :before ORDER BY seq LIMIT +:limit';
      const rows = statement(database, sql).all({ from, before, limit }) as readonly { received_ms: number }[];
      return answer(rows.map((row) => row.received_ms));
    },
    disorder,
    noteDisorder(first, last) {
      if (progressOf(database, DISORDER_THROUGH) === 0) setProgress(database, DISORDER_FROM, first);
      setProgress(database, DISORDER_THROUGH, last);
      return DONE;
    },
  };
}
