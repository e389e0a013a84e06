import type { ActResult } from '../../../operator/acts.ts';
import type { AlikeEvents, Outcomes } from '../../../rules/bulk-outcome.ts';
import { asked } from '../../../rules/steps.ts';
import type { Scene } from '../../engine/scene.ts';
import { places, STATE } from '../../sql/records.ts';
import { rowOf } from '../../sql/tables.ts';

/** What became of the events of bulks. */
export function bulkOutcomes({ session, t }: Pick<Scene, 'session' | 't'>): Outcomes {
  return {
    worked(bulk, after, limit) {
      const text = `
        SELECT seq, result FROM ${t.bulk_events}
        WHERE bulk = $1 AND seq > $2 AND result IS NOT NULL ORDER BY bulk, seq LIMIT $3`;
      return asked(session.rows<{ seq: number; result: ActResult }>(text, [bulk, after, limit]));
    },
    standing(seqs, line) {
      const text = `
        SELECT state, failed, erased, again, count(*)::integer AS count FROM (
          SELECT ${STATE}, coalesce(queue.failures > 0, false) AS failed, events.erased_ms IS NOT NULL AS erased,
            (SELECT 1 FROM ${t.event_acts} AS acts WHERE acts.seq = events.seq AND acts.audit > $2 LIMIT 1) IS NOT NULL AS again
          FROM unnest($1::bigint[]) AS acted (seq) CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = acted.seq')} ${places(t)}
        ) AS event GROUP BY state, failed, erased, again`;
      return asked(session.rows<AlikeEvents>(text, [seqs, line]));
    },
  };
}
