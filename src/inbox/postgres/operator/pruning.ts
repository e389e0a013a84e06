import { performance } from '../../../host/real-timers.ts';
import type { PruningEngine } from '../../operator/pruning.ts';
import type { PrunableState } from '../../event.ts';
import type { PruneCriteria, PrunePosition } from '../../rules/pruning.ts';
import { Budget } from '../../rules/budget.ts';
import { planPrune, type LookedAt, type SettledEvent } from '../../rules/pruning.ts';
import { endpointsOf } from '../engine/due-events.ts';
import { prunableIn } from '../engine/settled-events.ts';
import type { Reading, Transaction } from '../engine/transaction.ts';
import { pruneErrors } from '../moves.ts';
import { joined, STATE } from '../sql/records.ts';
import { writeTogether } from '../sql/statements.ts';
import { rowOf, type Tables } from '../sql/tables.ts';
import { keepUnpruned } from './acts.ts';
import { doneOnce } from '../driver/database.ts';
import { type Access, addToAuditLine } from './operator-tables.ts';

/** One transaction prunes bodies of so many bytes at most, and one body more. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * There is no one writer here that deliveries wait for, only the slots of these events: a batch may take so many times as long,
 * and whoever prunes rests for as long as it has worked.
 */
const LONGER = 50;
const RESTS_LESS = 4;

export function pruningEngine({ store, ask }: Access): PruningEngine {
  const { database, t, time, within } = store;
  return {
    hasIndex: () => true,
    lookAt: (criteria, from, looked) =>
      ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          const before = time.toDatabase(criteria.settledBefore.getTime());
          return lookAt({ session, t }, { ...criteria, before }, from, looked);
        }),
      ),
    async prune(found, settledBefore, audit) {
      let heldSince = 0;
      const done = await ask(() =>
        doneOnce(store.database, {
          before: (session) => time.follow(session),
          async work(session) {
            heldSince = performance.now();
            const place = within(session);
            const settled = await heldEvents(place, found);
            const before = time.toDatabase(settledBefore.getTime());
            const plan = planPrune(found, settled, before, new Budget(MOST_BYTES));
            await save(place, plan.prune);
            const pruned = plan.prune.length;
            if (audit !== undefined) await addToAuditLine(place, audit, { pruned });
            return { pruned, worked: plan.worked, workMs: (performance.now() - heldSince) / LONGER };
          },
        }),
      );
      return { ...done, heldMs: (performance.now() - heldSince) / RESTS_LESS };
    },
  };
}

interface SettledRow extends Pick<SettledEvent, 'state' | 'bytes'> {
  readonly seq: number;
  readonly settled_ms: number | null;
}

/** Nobody moves or prunes these events until the transaction ends. */
async function heldEvents(
  transaction: Transaction,
  found: readonly PrunePosition[],
): Promise<ReadonlyMap<number, SettledEvent>> {
  const { session, t, locks } = transaction;
  const seqs = found.map(({ seq }) => seq);
  await locks.takeOfSeqs(seqs);
  await keepUnpruned(transaction, '$1::bigint[]', [seqs]);
  const rows = await session.rows<SettledRow>(
    `SELECT events.seq, ${STATE}, octet_length(events.body) AS bytes,
       coalesce(shelf.settled_ms,
         (SELECT ended_ms FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq AND prunable LIMIT 1),
         (SELECT settled_ms FROM ${t.imported} AS imported WHERE imported.seq = events.seq AND prunable)) AS settled_ms
     FROM ${joined(t)} WHERE events.seq = ANY($1::bigint[])`,
    [seqs],
  );
  return new Map(rows.map(({ seq, settled_ms: settledAt, ...row }) => [seq, { ...row, settledAt }]));
}

async function save({ session, t, moves }: Transaction, seqs: readonly number[]): Promise<void> {
  await session.run(moves.pruneMany(seqs));
  await writeTogether(session, [
    { text: pruneErrors(t), values: [seqs] },
    { text: `DELETE FROM ${t.conflicts} WHERE seq = ANY($1::bigint[])`, values: [seqs] },
  ]);
}

interface LookedAtRow extends Pick<LookedAt, 'seq' | 'type' | 'endpoint'> {
  readonly settled_ms: number;
}

/** The first behind a position, in the order in which they were settled. */
async function lookAt(
  at: Reading,
  { endpoint, before }: Pick<PruneCriteria, 'endpoint'> & { readonly before: number },
  from: PrunePosition,
  looked: number,
): Promise<readonly LookedAt[]> {
  const { state } = from;
  const { session, t } = at;
  const endpoints = endpoint === undefined ? await endpointsIn(at, state) : [endpoint];
  // What is settled is in the order of its time at each endpoint, and there are few of these.
  const lanes = tablesOf(t, state).map(
    ([table, time, where]) =>
      `SELECT next.* FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN LATERAL (
         SELECT seq, ${time} AS settled_ms FROM ${table} AS settled
         WHERE ${where} AND endpoint = named.endpoint AND ${time} < $2::bigint AND (${time}, seq) > ($3::bigint, $4::bigint)
         ORDER BY ${time}, seq LIMIT $5
       ) AS next`,
  );
  const rows = await session.rows<LookedAtRow>(
    `SELECT next.seq, next.settled_ms, events.type, events.endpoint
     FROM (SELECT * FROM (${lanes.join(' UNION ALL ')}) AS lanes ORDER BY settled_ms, seq LIMIT $5) AS next
       CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = next.seq')}
     ORDER BY next.settled_ms, next.seq`,
    [endpoints, before, from.settledMs, from.seq, looked],
  );
  return rows.map(({ settled_ms: settledMs, ...row }) => ({ ...row, settledMs }));
}

type Lane = readonly [table: string, time: string, where: string];

function tablesOf(t: Tables, state: PrunableState): readonly Lane[] {
  if (state !== 'processed') return [[t.shelf, 'settled_ms', onShelf(state)]];
  return prunableIn(t).map(([table, time]) => [table, time, 'prunable']);
}

function onShelf(state: PrunableState): string {
  return `state = '${state}' AND NOT pruned`;
}

async function endpointsIn({ session, t }: Reading, state: PrunableState): Promise<readonly string[]> {
  if (state !== 'processed') return endpointsOf({ session }, t.shelf, onShelf(state), 'state, endpoint, settled_ms');
  const found = new Set<string>();
  for (const [table, time] of prunableIn(t)) {
    for (const endpoint of await endpointsOf({ session }, table, 'prunable', `endpoint, ${time}`)) found.add(endpoint);
  }
  return [...found];
}
