import { countChange } from '../../rules/attempt.ts';
import type { Change } from '../../rules/store.ts';
import { inOneStatement, type Write } from '../sql/statements.ts';
import type { Tables } from '../sql/tables.ts';
import { type Scene, marksToRaise } from './transaction.ts';

type Ended = Extract<Change, { kind: 'attempt ended' }>;

/** Saves changes of events whose slots are held, all changes of a kind together, in one round trip where possible. */
export async function applyChanges(scene: Scene, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  const { session, t, moves, writes } = scene;
  const ended: Ended[] = [];
  const processed: number[] = [];
  const parked: number[] = [];
  const unparked: number[] = [];
  const alone: Write[] = [];
  for (const change of changes) {
    countChange(writes.counts, change);
    switch (change.kind) {
      case 'attempt ended':
        ended.push(change);
        break;
      case 'lease ended':
        processed.push(change.seq);
        break;
      case 'lease renewed':
        alone.push({ text: moves.renew, values: [[change.lease.seq], [change.lease.fence], change.until, false] });
        break;
      case 'late error':
        alone.push(lateError(t, change));
        break;
      case 'parked':
        parked.push(...change.seqs);
        break;
      case 'unparked':
        unparked.push(...change.seqs);
        break;
    }
  }
  const keeping = ended.filter(({ keepsLease }) => keepsLease).map(({ event }) => event.seq);
  for (const { event, ending, keepsLease } of ended) {
    if (ending.state === 'processed' && !keepsLease) processed.push(event.seq);
  }
  const together: Write[] = [
    { text: moves.toProcessed, values: [processed] },
    { text: moves.processedUnderLease, values: [keeping] },
    { text: moves.park, values: [parked] },
    { text: moves.unpark, values: [unparked] },
    retries(scene, ended),
    ...attempts(t, ended),
    marksToRaise(
      t,
      ended.flatMap(({ event, supersedes }) => (supersedes ? [event] : [])),
    ),
  ].filter(({ values: [first] }) => Array.isArray(first) && first.length > 0);
  const deaths = dead(scene, ended);
  if (deaths !== null) alone.push(deaths);
  together.push(...(await writes.countsToWrite()));
  const all = together.length === 0 ? alone : [inOneStatement(together), ...alone];
  await Promise.all(all.map(({ text, values }) => session.run(text, values)));
}

function retries({ moves }: Scene, ended: readonly Ended[]): Write {
  const retried = ended.flatMap(({ event, ending }) => (ending.state === 'pending' ? [{ event, ending }] : []));
  return {
    text: moves.toRetry,
    values: [
      retried.map(({ event }) => event.seq),
      retried.map(({ ending }) => ending.dueAt),
      retried.map(({ ending }) => ending.failed),
      retried.map(({ ending }) => ending.crashed),
      retried.map(({ ending }) => ending.yields ?? null),
    ],
  };
}

/** By itself, because it has a WITH. */
function dead({ moves }: Scene, ended: readonly Ended[]): Write | null {
  const died = ended.flatMap((each) => (each.ending.state === 'dead' ? [{ ...each, ending: each.ending }] : []));
  if (died.length === 0) return null;
  return {
    text: moves.toDead,
    values: [
      died.map(({ event }) => event.seq),
      died.map(({ ending }) => ending.deadReason),
      died.map(({ now }) => now),
      died.map(({ ending }) => ending.fingerprint),
      died.map(({ ending }) => ending.failed),
      died.map(({ ending }) => ending.crashed),
    ],
  };
}

function attempts(t: Tables, ended: readonly Ended[]): readonly Write[] {
  const text = (of: (each: Ended) => string | null | undefined) => ended.map((each) => of(each) ?? null);
  const marked = ended.filter(({ event, foundBy }) => event.hasEffect && foundBy === undefined);
  return [
    {
      text: `
        INSERT INTO ${t.attempts} (seq, number, trigger, outcome, fence, endpoint, started_ms, ended_ms, prunable,
          error_name, error_message, error_stack, skipped, found_by)
        SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
          $8::bigint[], $9::boolean[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[])`,
      values: [
        ended.map(({ event }) => event.seq),
        ended.map(({ event }) => event.attempt),
        ended.map(({ event }) => event.trigger),
        ended.map(({ ending }) => ending.outcome),
        ended.map(({ event }) => event.fence),
        ended.map(({ event }) => event.endpoint),
        ended.map(({ event }) => event.claimedAt),
        ended.map(({ now }) => now),
        ended.map(({ ending }) => ending.outcome === 'processed'),
        text(({ ending }) => ending.error?.name),
        text(({ ending }) => ending.error?.message),
        text(({ ending }) => ending.error?.stack),
        text(({ ending }) => ending.skipped),
        ended.map(({ foundBy }) => foundBy ?? null),
      ],
    },
    // The marker of a transaction that its handler committed; its function may still ask for the one of a crash.
    {
      text: `DELETE FROM ${t.effects} WHERE seq = ANY($1::bigint[]) AND fence = ANY($2::bigint[])`,
      values: [marked.map(({ event }) => event.seq), marked.map(({ event }) => event.fence)],
    },
  ];
}

function lateError(t: Tables, { lease, error }: Extract<Change, { kind: 'late error' }>): Write {
  return {
    text: `
      UPDATE ${t.attempts} SET error_name = $3, error_message = $4, error_stack = $5
      WHERE seq = $1 AND fence = $2 AND number = (SELECT max(number) FROM ${t.attempts} WHERE seq = $1)
        AND NOT EXISTS (SELECT 1 FROM ${t.queue} WHERE seq = $1 AND fence <> $2)
        AND (SELECT 1 FROM ${t.events} WHERE seq = $1 AND body IS NOT NULL) IS NOT NULL`,
    values: [lease.seq, lease.fence, error.name, error.message, error.stack],
  };
}
