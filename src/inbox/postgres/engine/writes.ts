import type { AttemptEnded, RunningEvent } from '../../rules/engine.ts';
import { foldTypes, hasOwnType } from '../../rules/counted-types.ts';
import { Tally } from '../../rules/tally.ts';
import type { DatabaseTime } from '../database-time.ts';
import type { Session } from '../driver/session.ts';
import { textOrNull, toText } from '../driver/values.ts';
import { countsToAdd } from '../sql/add-counts.ts';
import { inOneStatement, type Write } from '../sql/in-one-statement.ts';
import { keyOrNull } from '../sql/keys.ts';
import type { Tables } from '../sql/tables.ts';
import type { movesOf } from '../moves.ts';
import { namedTypes } from './named-types.ts';

/** What no statement of the same rule looks for, or only candidates do: it is written together, once for many events. */
export interface Writes {
  park(seq: number): void;
  /** What is parked may be claimed again. */
  unpark(seq: number): void;
  /** What was in processing is processed. */
  end(seq: number): void;
  /** A marker that its transaction was committed by itself goes with it, unless its function may ask for that yet. */
  attempt(event: RunningEvent, ended: AttemptEnded, now: number): void;
  processed(event: Pick<RunningEvent, 'endpoint' | 'entity' | 'created'>): void;
  readonly counts: Tally;
  /** Takes its body away. */
  prune(seq: number, hash: Uint8Array): void;
  pruneErrors(seq: number): void;
  forgetConflict(seq: number): void;
  /** Before the next candidates are looked for, and before the commit. */
  flush(): Promise<void>;
}

export function writesOf(
  session: Session,
  t: Tables,
  moves: ReturnType<typeof movesOf>,
  time: Pick<DatabaseTime, 'toDatabase'>,
): Writes {
  const counts = new Tally();
  let parked: number[] = [];
  let unparked: number[] = [];
  let processed: number[] = [];
  let attempts: (readonly unknown[])[] = [];
  let effects: (readonly [number, number])[] = [];
  let marks: (readonly unknown[])[] = [];
  let pruned: (readonly [number, Uint8Array])[] = [];
  let withoutErrors: number[] = [];
  let withoutConflict: number[] = [];
  return {
    park: (seq) => void parked.push(seq),
    unpark: (seq) => void unparked.push(seq),
    end: (seq) => void processed.push(seq),
    attempt(
      { seq, fence, endpoint, attempt, trigger, claimedAt, hasEffect },
      { outcome, error, skipped, foundBy },
      now,
    ) {
      const words = [error?.name, error?.message, error?.stack, skipped].map((text) => textOrNull(text ?? null));
      const isProcessed = outcome === 'processed';
      const found = foundBy ?? null;
      attempts.push([
        seq,
        attempt,
        trigger,
        outcome,
        fence,
        toText(endpoint),
        claimedAt,
        now,
        isProcessed,
        ...words,
        found,
      ]);
      if (hasEffect === true && found === null) effects.push([seq, fence]);
    },
    processed({ endpoint, entity, created }) {
      if (created !== null) marks.push([keyOrNull(entity), toText(endpoint), created.ms, created.ns]);
    },
    counts,
    prune: (seq, hash) => void pruned.push([seq, hash]),
    pruneErrors: (seq) => void withoutErrors.push(seq),
    forgetConflict: (seq) => void withoutConflict.push(seq),
    async flush() {
      const writes: Write[] = [];
      if (processed.length > 0) writes.push({ text: moves.toProcessed, values: [processed] });
      if (unparked.length > 0) writes.push({ text: moves.unparkMany, values: [unparked] });
      if (attempts.length > 0) writes.push({ text: addAttempts(t), values: columns(attempts, 14) });
      if (effects.length > 0) {
        const text = `DELETE FROM ${t.effects} WHERE seq = ANY($1::bigint[]) AND fence = ANY($2::bigint[])`;
        writes.push({ text, values: columns(effects, 2) });
      }
      if (marks.length > 0) writes.push({ text: raiseHighWater(t), values: columns(marks, 4) });
      if (withoutErrors.length > 0) writes.push({ text: pruneErrors(t), values: [withoutErrors] });
      if (withoutConflict.length > 0) {
        const text = `DELETE FROM ${t.conflicts} WHERE seq = ANY($1::bigint[])`;
        writes.push({ text, values: [withoutConflict] });
      }
      const taken = counts.take();
      const counted = hasOwnType(taken) ? foldTypes(taken, await namedTypes(session, t)) : taken;
      if (counted.length > 0) {
        const at = Date.now();
        const rows = counted.map((sum) => ({ at, ...sum }));
        writes.push(countsToAdd({ t, time }, rows));
      }
      const writing: Promise<unknown>[] = [];
      // Of the same rows, as what is set aside may be taken back at once; and with a WITH of its own.
      if (parked.length > 0) writing.push(session.run(moves.park, [parked]));
      if (pruned.length > 0) writing.push(session.run(moves.prune, columns(pruned, 2)));
      if (writes.length > 0) {
        const { text, values } = inOneStatement(writes);
        writing.push(session.run(text, values));
      }
      pruned = [];
      withoutErrors = [];
      withoutConflict = [];
      parked = [];
      processed = [];
      unparked = [];
      attempts = [];
      effects = [];
      marks = [];
      await Promise.all(writing);
    },
  };
}

function columns(rows: readonly (readonly unknown[])[], count: number): unknown[][] {
  return Array.from({ length: count }, (_, at) => rows.map((row) => row[at]));
}

function addAttempts(t: Tables): string {
  return `
    INSERT INTO ${t.attempts} (seq, number, trigger, outcome, fence, endpoint, started_ms, ended_ms, prunable,
      error_name, error_message, error_stack, skipped, found_by)
    SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
      $8::bigint[], $9::boolean[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[])`;
}

function pruneErrors(t: Tables): string {
  return `
    UPDATE ${t.attempts} SET prunable = false, error_message = NULL, error_stack = NULL, skipped = NULL
    WHERE seq = ANY($1::bigint[]) AND (prunable OR error_name IS NOT NULL OR skipped IS NOT NULL)`;
}

function raiseHighWater(t: Tables): string {
  return `
    INSERT INTO ${t.entities} AS known (entity, endpoint, created_ms, created_ns)
    SELECT DISTINCT ON (entity, endpoint) entity, endpoint, created_ms, created_ns
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::integer[]) AS given (entity, endpoint, created_ms, created_ns)
    ORDER BY entity, endpoint, created_ms DESC, created_ns DESC
    ON CONFLICT (entity, endpoint) DO UPDATE SET created_ms = excluded.created_ms, created_ns = excluded.created_ns
    WHERE (excluded.created_ms, excluded.created_ns) > (known.created_ms, known.created_ns)`;
}
