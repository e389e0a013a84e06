import type { Disorder, ReceivedTimes } from '../../../operator/finding/seq-ranges.ts';
import { asked } from '../../../rules/steps.ts';
import type { Session } from '../../driver/session.ts';
import type { Tables } from '../../sql/tables.ts';

/** Between these two, in `progress`, an import has put events among others that were received at other times. */
const DISORDER_FROM = 'out of order from';
const DISORDER_THROUGH = 'out of order through';

/** When events were received, by their `seq`, on the tables of a schema. */
export function receivedTimes(session: Session, t: Tables): ReceivedTimes & Disorder {
  async function disorder() {
    const rows = await session.rows<{ what: string; seq: number }>(
      `SELECT what, seq FROM ${t.progress} WHERE what = ANY($1::text[])`,
      [[DISORDER_FROM, DISORDER_THROUGH]],
    );
    const [from, through] = [DISORDER_FROM, DISORDER_THROUGH].map(
      (name) => rows.find(({ what }) => what === name)?.seq,
    );
    return through === undefined ? null : { from: from ?? 0, before: through + 1 };
  }

  return {
    newestSeq: () =>
      asked(
        session.row<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${t.events}`).then((row) => row?.seq ?? 0),
      ),
    receivedIn({ from, before }, limit) {
      const text = `SELECT received_ms FROM ${t.events} WHERE seq >= $1 AND seq < $2 ORDER BY seq LIMIT $3`;
      const found = session.rows<{ received_ms: number }>(text, [from, before, limit]);
      return asked(found.then((rows) => rows.map((row) => row.received_ms)));
    },
    disorder: () => asked(disorder()),
    noteDisorder(first, last) {
      // Two machines may import at once.
      const note = (what: string, seq: number, which: 'least' | 'greatest') =>
        session.run(
          `INSERT INTO ${t.progress} AS known (what, seq) VALUES ($1, $2)
           ON CONFLICT (what) DO UPDATE SET seq = ${which}(known.seq, excluded.seq)`,
          [what, seq],
        );
      const noted = [note(DISORDER_FROM, first, 'least'), note(DISORDER_THROUGH, last, 'greatest')];
      return asked(Promise.all(noted).then(() => {}));
    },
  };
}
