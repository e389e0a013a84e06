import type { EntityQueue, Front, Takers } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

interface FrontRow {
  readonly seq: number;
  readonly type: string;
  readonly created_ms: number;
  readonly created_ns: number;
}

type PlacedRow = Omit<FrontRow, 'type'> & { readonly parked: 0 | 1 };

/** After every event there can be. */
const LAST: Omit<Front, 'type'> = { created: { ms: Number.MAX_SAFE_INTEGER, ns: 0 }, seq: 0 };

/** What waits of one entity. */
export function entityQueue({ moves, queue }: NamedStatements): Omit<EntityQueue, 'timeSlice' | keyof Takers> {
  return {
    hasLease: ({ entity, endpoint }) => answer(queue.leaseOfEntity.get({ entity, endpoint }) !== undefined),
    front: ({ entity, endpoint }) => answer(frontOf(queue.frontOfEntity.get({ entity, endpoint }))),
    frontOfTypes: ({ entity, endpoint }, types) =>
      answer(frontOf(queue.frontOfTypes.get({ entity, endpoint, types: JSON.stringify(types) }))),
    park(seq) {
      moves.park.run({ seq });
      return DONE;
    },
    unpark: (seq) => answer((moves.unpark.get({ seq }) as { bytes: number } | undefined)?.bytes),
    parkedUpTo({ entity, endpoint }, last, limit) {
      const { created, seq } = last ?? LAST;
      const upTo = { created_ms: created.ms, created_ns: created.ns, seq };
      const rows = queue.someUpTo.all({ entity, endpoint, ...upTo, limit }) as PlacedRow[];
      return answer(
        seqsOf(
          rows
            .toSorted(inOrder)
            .slice(0, limit)
            .filter(({ parked }) => parked === 1),
        ),
      );
    },
    nextOf({ entity, endpoint }) {
      const rows = queue.nextOfEntity.all({ entity, endpoint }) as (FrontRow & { readonly yields: 0 | 1 })[];
      const front = frontOf(rows.find(({ yields }) => yields === 0));
      return answer({ front, yielding: seqsOf(rows.filter(({ yields }) => yields === 1)) });
    },
  };
}

function seqsOf(rows: readonly unknown[]): readonly number[] {
  return rows.map((row) => (row as { seq: number }).seq);
}

function inOrder(one: PlacedRow, other: PlacedRow): number {
  return one.created_ms - other.created_ms || one.created_ns - other.created_ns || one.seq - other.seq;
}

function frontOf(found: unknown): Front | undefined {
  if (found === undefined) return undefined;
  const { seq, type, created_ms, created_ns } = found as FrontRow;
  return { seq, type, created: { ms: created_ms, ns: created_ns } };
}
