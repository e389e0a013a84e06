import { TOLERATED_MS } from '../rules/claim.ts';
import { joined, LOST, LOST_REASON } from './sql/records.ts';
import { rowOf, type Tables } from './sql/tables.ts';

/**
 * A counter would give out the same fence again after a crash or a fail-over that takes claims back; the time and a random
 * number do not. Whole numbers up to 2^53, until the year 2109.
 */
const FIRST_FENCE = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 2048 + floor(random() * 2048)::bigint';
const NEXT_FENCE = `greatest(fence + 1, ${FIRST_FENCE})`;

const DISCARDED = `state = 'discarded', dead_reason = NULL, settled_ms = $2, crashes = 0, trigger = 'auto', fingerprint = NULL`;

const NO_LEASE = 'claimed_ms = NULL, lease_until_ms = NULL, leased_entity = NULL, leased_suspect = NULL';

/**
 * Moves lost events to the shelf, as dead. The queue would run every processed event again after the attempts were emptied.
 * A rerun of a lost event gets the next number of attempt.
 */
export function shelveLost(t: Tables, where: string): string {
  return `INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, attempts)
    SELECT events.seq, 'dead', ${LOST_REASON},
      events.endpoint, CASE WHEN length(events.type) <= 150 THEN events.type END,
      (extract(epoch FROM clock_timestamp()) * 1000)::bigint, events.received_ms,
      coalesce((SELECT max(number) FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq), 0)
    FROM ${joined(t)} WHERE ${LOST} AND ${where} ON CONFLICT DO NOTHING`;
}

/** Every write of where an event stands, each named for the move it makes; nothing else writes `events`, `queue` and `shelf`. */
export function movesOf(t: Tables) {
  return {
    // A delivery comes in.
    /**
     * As many as are new, in the order they are given; known ones are passed over. They are looked for first, as whoever meets
     * one in the index of keys has drawn a number for nothing. They are counted as rules/accept.ts does, here, so that no
     * delivery waits for another statement. Those with a `claimed_ms` are stored under a lease, as if they had been claimed.
     */
    insert: `
      WITH given AS (
        SELECT DISTINCT ON (id, endpoint) *
        FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::integer[], $6::text[], $7::smallint[],
          $8::boolean[], $9::bigint[], $10::bytea[], $11::text[], $12::text[], $13::boolean[], $14::text[], $16::text[],
          $17::bigint[], $18::bigint[], $19::boolean[], $20::bigint[])
          WITH ORDINALITY AS given
            (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body, type_key, entity_key,
             valid, counted, trace, claimed_ms, lease_until_ms, in_order, claim, place)
        ORDER BY id, endpoint, place
      ), stored AS (
        INSERT INTO ${t.events}
          (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body, trace)
        SELECT endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body, trace FROM given
        WHERE (SELECT 1 FROM ${t.events} AS known WHERE known.id = given.id AND known.endpoint = given.endpoint) IS NULL
        ORDER BY place
        ON CONFLICT (id, endpoint) DO NOTHING
        RETURNING seq, endpoint, id
      ), about AS (
        SELECT stored.seq, given.* FROM stored JOIN given ON given.id = stored.id AND given.endpoint = stored.endpoint
      ), queued AS (
        INSERT INTO ${t.queue}
          (seq, endpoint, type, entity, slot, created_ms, created_ns, due_ms, fresh, claimed_ms, lease_until_ms, attempts, fence,
           claim, leased_entity)
        SELECT seq, endpoint, type_key, entity_key, slot, created_ms, created_ns, received_ms, claimed_ms IS NULL, claimed_ms,
          lease_until_ms, (claimed_ms IS NOT NULL)::integer,
          CASE WHEN claimed_ms IS NULL THEN 0 ELSE ${FIRST_FENCE} END, claim, CASE WHEN in_order THEN entity_key END
        FROM about WHERE valid
        RETURNING seq, fence
      ), shelved AS (
        INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms)
        SELECT seq, 'dead', 'invalid', endpoint, type_key, received_ms, received_ms FROM about WHERE NOT valid
        RETURNING seq
      ), noted AS (
        INSERT INTO ${t.unindexed} (first, count, seqs) SELECT min(seq), count(*), array_agg(seq) FROM stored HAVING count(*) > 0
      ), counted AS (
        INSERT INTO ${t.counts} (minute_ms, what, detail, count)
        SELECT $15::bigint, what, counted, count(*)
        FROM about CROSS JOIN unnest(CASE WHEN valid THEN '{stored}' ELSE '{stored,dead}'::text[] END) AS what
        WHERE $15::bigint IS NOT NULL GROUP BY what, counted
      )
      -- Beside each other, as a join of what was written has no index: it cost a fifth of all.
      SELECT seq, endpoint, id, NULL::bigint AS fence, (SELECT count(*) FROM queued) + (SELECT count(*) FROM shelved) AS placed
      FROM stored UNION ALL SELECT seq, NULL, NULL, fence, NULL FROM queued WHERE fence > 0`,
    markVerified: `UPDATE ${t.events} SET verified = true WHERE seq = ANY($1::bigint[])`,
    /** Events get what other bodies say of them. */
    replaceEvents: `
      UPDATE ${t.events} AS events
      SET type = given.type, created_ms = given.created_ms, created_ns = given.created_ns, entity = given.entity,
        slot = given.slot, verified = given.verified, body = given.body, body_sha256 = NULL,
        trace = coalesce(given.trace, events.trace)
      FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[], $5::text[], $6::smallint[], $7::boolean[],
        $8::bytea[], $9::text[]) AS given (seq, type, created_ms, created_ns, entity, slot, verified, body, trace)
      WHERE events.seq = ANY($1::bigint[]) AND events.seq = given.seq`,
    /** Those in the queue go on from there, with what their events rows say by now, as if they had just arrived. */
    requeue: `
      UPDATE ${t.queue} AS queue
      SET type = given.type, entity = given.entity, slot = events.slot, created_ms = events.created_ms,
        created_ns = events.created_ns, fresh = true, parked = false, failures = 0, crashes = 0, yields = false
      FROM unnest($1::bigint[], $2::text[], $3::text[]) AS given (seq, type, entity)
        CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = given.seq')}
      WHERE queue.seq = ANY($1::bigint[]) AND queue.seq = given.seq`,
    /** From the shelf into the queue, with what their events rows say by now, due when they were; or as if they had just arrived. */
    unshelve: `
      WITH taken AS (DELETE FROM ${t.shelf} WHERE seq = ANY($1::bigint[]) RETURNING *)
      INSERT INTO ${t.queue}
        (seq, endpoint, type, entity, slot, created_ms, created_ns, due_ms, fresh, attempts, failures, crashes, trigger, fence)
      SELECT taken.seq, taken.endpoint, given.type, given.entity, events.slot, events.created_ms, events.created_ns,
        taken.due_ms, $4::boolean, taken.attempts, CASE WHEN $4::boolean THEN 0 ELSE taken.failures END,
        CASE WHEN $4::boolean THEN 0 ELSE taken.crashes END, taken.trigger, taken.fence
      FROM taken JOIN unnest($1::bigint[], $2::text[], $3::text[]) AS given (seq, type, entity) ON given.seq = taken.seq
        CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = taken.seq')}`,
    /** What bodies that fit no schema take the place of. */
    shelveInvalid: `
      WITH taken AS (DELETE FROM ${t.queue} WHERE seq = ANY($1::bigint[]) RETURNING *)
      INSERT INTO ${t.shelf}
        (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, attempts, trigger, fence)
      SELECT taken.seq, 'dead', 'invalid', taken.endpoint, given.type, given.settled_ms, taken.due_ms, taken.attempts, taken.trigger, taken.fence
      FROM taken JOIN unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (seq, type, settled_ms) ON given.seq = taken.seq`,
    stayInvalid: `
      UPDATE ${t.shelf} AS shelf
      SET state = 'dead', dead_reason = 'invalid', type = given.type, settled_ms = given.settled_ms, fingerprint = NULL,
        failures = 0, crashes = 0, pruned = false
      FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS given (seq, type, settled_ms)
      WHERE shelf.seq = ANY($1::bigint[]) AND shelf.seq = given.seq`,

    // A processor learns of it, runs it, and says how that ended.
    /** Nothing arrives in the future: what says so arrived before the clock was set back. */
    indexNew: `
      UPDATE ${t.queue} SET due_ms = $1::bigint, fresh = false WHERE fresh AND due_ms + 1 > $1::bigint + ${TOLERATED_MS + 1}`,
    park: `UPDATE ${t.queue} SET parked = true, fresh = false WHERE seq = ANY($1::bigint[])`,
    unpark: `UPDATE ${t.queue} SET parked = false WHERE seq = ANY($1::bigint[]) AND parked`,
    claim: `
      WITH claimed AS (
        UPDATE ${t.queue}
        SET claimed_ms = $2, lease_until_ms = $3, claim = $6, fence = ${NEXT_FENCE}, attempts = attempts + 1, parked = false,
          fresh = false, closing = false, leased_entity = CASE WHEN $4::boolean THEN entity END,
          leased_suspect = CASE WHEN $5::boolean AND crashes > 0 THEN true END
        WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NULL
        RETURNING seq, fence, attempts, failures
      )
      SELECT claimed.*, events.endpoint, events.id, events.body, events.verified, events.received_ms, events.trace
      FROM claimed CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = claimed.seq')}`,
    renew: `
      UPDATE ${t.queue} AS queue SET lease_until_ms = $3, closing = $4
      FROM unnest($1::bigint[], $2::bigint[]) AS given (seq, fence)
      WHERE queue.seq = ANY($1::bigint[]) AND queue.seq = given.seq AND queue.fence = given.fence
        AND queue.lease_until_ms IS NOT NULL
      RETURNING queue.seq, queue.fence`,
    /** Also ends the lease of an event that was processed before. */
    toProcessed: `DELETE FROM ${t.queue} WHERE seq = ANY($1::bigint[])`,
    processedUnderLease: `UPDATE ${t.queue} SET processed = true WHERE seq = ANY($1::bigint[])`,
    toRetry: `
      UPDATE ${t.queue} AS queue
      SET due_ms = given.due_ms, failures = queue.failures + given.failed, crashes = queue.crashes + given.crashed,
        yields = coalesce(given.yields, queue.yields), trigger = 'auto', ${NO_LEASE}
      FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[], $5::boolean[])
        AS given (seq, due_ms, failed, crashed, yields)
      WHERE queue.seq = ANY($1::bigint[]) AND queue.seq = given.seq`,
    toDead: `
      WITH taken AS (DELETE FROM ${t.queue} WHERE seq = ANY($1::bigint[]) RETURNING *)
      INSERT INTO ${t.shelf}
        (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, fingerprint, attempts, failures, crashes, fence)
      SELECT taken.seq, 'dead', given.reason, taken.endpoint, taken.type, given.settled_ms, taken.due_ms, given.fingerprint,
        taken.attempts, taken.failures + given.failed, taken.crashes + given.crashed, taken.fence
      FROM taken JOIN unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::integer[], $6::integer[])
        AS given (seq, reason, settled_ms, fingerprint, failed, crashed) ON given.seq = taken.seq`,
    toIgnored: `
      WITH taken AS (DELETE FROM ${t.queue} WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NULL RETURNING *)
      INSERT INTO ${t.shelf}
        (seq, state, endpoint, type, settled_ms, due_ms, attempts, failures, crashes, trigger, fence)
      SELECT seq, 'ignored', endpoint, type, $2, due_ms, attempts, failures, crashes, trigger, fence FROM taken`,

    // The event was lost, and no search would find it under its state.
    shelveLost: shelveLost(t, 'events.seq = ANY($1::bigint[])'),

    // An operator acts on it.
    /** Their attempts go on where they were; those before the rerun do not say any more that a body may be pruned. */
    processedToPending: `
      WITH kept AS (UPDATE ${t.attempts} SET prunable = false WHERE seq = ANY($1::bigint[]) AND prunable),
      taken AS (DELETE FROM ${t.imported} WHERE seq = ANY($1::bigint[]) RETURNING seq, attempts)
      INSERT INTO ${t.queue}
        (seq, endpoint, type, entity, slot, created_ms, created_ns, due_ms, fresh, attempts, trigger)
      SELECT events.seq, events.endpoint, given.type, given.entity, events.slot, events.created_ms, events.created_ns, $4, false,
        coalesce((SELECT attempts FROM taken WHERE taken.seq = events.seq),
          (SELECT max(number) FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq), 0), 'manual'
      FROM unnest($1::bigint[], $2::text[], $3::text[]) AS given (seq, type, entity)
        CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = given.seq')}
      WHERE events.body IS NOT NULL AND events.erased_ms IS NULL`,
    /** What today's schemas say of events, where that changes anything: what was valid says today what it said then. */
    describeMany: `
      UPDATE ${t.events} AS events
      SET type = given.type, created_ms = given.created_ms, created_ns = given.created_ns, entity = given.entity, slot = given.slot
      FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[], $5::text[], $6::smallint[])
        AS given (seq, type, created_ms, created_ns, entity, slot)
      WHERE events.seq = ANY($1::bigint[]) AND events.seq = given.seq
        AND (events.type, events.created_ms, events.created_ns, events.entity, events.slot)
          IS DISTINCT FROM (given.type, given.created_ms, given.created_ns, given.entity, given.slot)`,
    /** Dead, ignored and discarded ones are rerun. */
    unshelveMany: `
      WITH taken AS (DELETE FROM ${t.shelf} WHERE seq = ANY($1::bigint[]) RETURNING *)
      INSERT INTO ${t.queue}
        (seq, endpoint, type, entity, slot, created_ms, created_ns, due_ms, fresh, attempts, trigger, fence)
      SELECT taken.seq, taken.endpoint, given.type, given.entity, events.slot, events.created_ms, events.created_ns, $4, false,
        taken.attempts, 'manual', taken.fence
      FROM taken JOIN unnest($1::bigint[], $2::text[], $3::text[]) AS given (seq, type, entity) ON given.seq = taken.seq
        CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = taken.seq')}`,
    /** Invalid events get the type and the time that today's schemas read. */
    describeInvalid: `
      UPDATE ${t.events} AS events SET type = given.type, created_ms = given.created_ms, created_ns = given.created_ns
      FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[]) AS given (seq, type, created_ms, created_ns)
      WHERE events.seq = ANY($1::bigint[]) AND events.seq = given.seq`,
    discardInvalid: `
      UPDATE ${t.shelf} AS shelf SET type = given.type, ${DISCARDED} FROM unnest($1::bigint[], $3::text[]) AS given (seq, type)
      WHERE shelf.seq = ANY($1::bigint[]) AND shelf.seq = given.seq AND state = 'dead'`,
    discardDead: `UPDATE ${t.shelf} SET ${DISCARDED} WHERE seq = ANY($1::bigint[]) AND state = 'dead'`,
    discardPending: `
      WITH taken AS (DELETE FROM ${t.queue} WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NULL RETURNING *)
      INSERT INTO ${t.shelf} (seq, state, endpoint, type, settled_ms, due_ms, attempts, failures, fence)
      SELECT seq, 'discarded', endpoint, type, $2::bigint, due_ms, attempts, failures, fence FROM taken`,
    retryNow: `
      UPDATE ${t.queue} SET due_ms = $2::bigint
      WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NULL AND due_ms > $2::bigint`,

    // It is erased: what is left is a tombstone without an entity.
    erase: `
      UPDATE ${t.events} AS events SET body = NULL, body_sha256 = coalesce(sha256(body), body_sha256), entity = NULL,
        slot = given.slot, erased_ms = $3, trace = NULL
      FROM unnest($1::bigint[], $2::smallint[]) AS given (seq, slot)
      WHERE events.seq = ANY($1::bigint[]) AND events.seq = given.seq`,
    erasePending: `
      WITH taken AS (DELETE FROM ${t.queue} WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NULL RETURNING *)
      INSERT INTO ${t.shelf} (seq, state, endpoint, type, settled_ms, due_ms, attempts, failures, crashes, fence, pruned)
      SELECT seq, 'discarded', endpoint, type, $2, due_ms, attempts, failures, crashes, fence, true FROM taken`,
    eraseSettled: `
      WITH brought AS (UPDATE ${t.imported} SET prunable = false, trigger = 'auto' WHERE seq = ANY($1::bigint[]))
      UPDATE ${t.shelf} SET pruned = true, trigger = 'auto', fingerprint = NULL WHERE seq = ANY($1::bigint[])`,

    /** As many as are new, in the order they are given: all of them, unless somebody has just stored one. */
    importEvents: `
      WITH given AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::integer[], $6::text[], $7::smallint[],
          $8::boolean[], $9::bigint[], $10::bytea[], $11::bytea[], $12::bigint[], $13::text[], $14::text[], $15::text[],
          $16::text[], $17::bigint[], $18::bigint[], $19::integer[], $20::integer[], $21::integer[], $22::text[],
          $23::text[], $24::text[], $25::boolean[]) WITH ORDINALITY AS given
          (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body, body_sha256, erased_ms,
           type_key, entity_key, state, dead_reason, settled_ms, due_ms, attempts, failures, crashes, trigger,
           fingerprint, trace, yields, place)
      ), stored AS (
        INSERT INTO ${t.events}
          (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body, body_sha256, erased_ms,
           trace)
        SELECT endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body, body_sha256, erased_ms,
          trace
        FROM given ORDER BY place
        ON CONFLICT (id, endpoint) DO NOTHING
        RETURNING seq, endpoint, id
      ), about AS (
        SELECT stored.seq, given.* FROM stored JOIN given ON given.id = stored.id AND given.endpoint = stored.endpoint
      ), queued AS (
        INSERT INTO ${t.queue}
          (seq, endpoint, type, entity, slot, created_ms, created_ns, due_ms, fresh, attempts, failures, crashes, trigger,
           yields)
        SELECT seq, endpoint, type_key, entity_key, slot, created_ms, created_ns, due_ms, false, attempts, failures, crashes,
          trigger, yields
        FROM about WHERE state = 'pending'
        RETURNING seq
      ), shelved AS (
        INSERT INTO ${t.shelf}
          (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, fingerprint, attempts, failures,
           crashes, trigger, pruned)
        SELECT seq, state, dead_reason, endpoint, type_key, settled_ms, due_ms, fingerprint, attempts, failures,
          crashes, trigger, body IS NULL
        FROM about WHERE state IN ('dead', 'ignored', 'discarded')
        RETURNING seq
      ), brought AS (
        INSERT INTO ${t.imported}
          (seq, endpoint, settled_ms, due_ms, attempts, failures, crashes, trigger, prunable)
        SELECT seq, endpoint, settled_ms, due_ms, attempts, failures, crashes, trigger, body IS NOT NULL
        FROM about WHERE state = 'processed'
        RETURNING seq
      ), noted AS (
        INSERT INTO ${t.unindexed} (first, count, seqs) SELECT min(seq), count(*), array_agg(seq) FROM stored HAVING count(*) > 0
      ), placed AS (SELECT seq FROM queued UNION ALL SELECT seq FROM shelved UNION ALL SELECT seq FROM brought)
      SELECT seq, (SELECT count(*) FROM placed) AS placed FROM about ORDER BY place`,

    // The clock was set back.
    moveLeases: `
      UPDATE ${t.queue} SET lease_until_ms = greatest($2::bigint, lease_until_ms - $1::bigint) WHERE lease_until_ms > $2::bigint`,
    moveDue: `
      UPDATE ${t.queue} SET due_ms = greatest($2::bigint, due_ms - $1::bigint)
      WHERE due_ms > $2::bigint AND lease_until_ms IS NULL AND NOT fresh`,

    // It is kept as a tombstone.
    /** Processed events, with what goes with their bodies: what errors said, and other bodies beside them. */
    pruneProcessed: `
      WITH brought AS (UPDATE ${t.imported} SET prunable = false WHERE seq = ANY($1::bigint[]) AND prunable),
      tried AS (
        UPDATE ${t.attempts} SET prunable = false, error_message = NULL, error_stack = NULL, skipped = NULL
        WHERE seq = ANY($1::bigint[]) AND (prunable OR error_name IS NOT NULL OR skipped IS NOT NULL)
      ),
      beside AS (DELETE FROM ${t.conflicts} WHERE seq = ANY($1::bigint[]))
      UPDATE ${t.events} SET body = NULL, body_sha256 = sha256(body) WHERE seq = ANY($1::bigint[]) AND body IS NOT NULL`,
    prune: `
      WITH given AS (SELECT * FROM unnest($1::bigint[], $2::bytea[]) AS given (seq, hash)),
      shelved AS (UPDATE ${t.shelf} SET pruned = true WHERE seq = ANY($1::bigint[])),
      brought AS (UPDATE ${t.imported} SET prunable = false WHERE seq = ANY($1::bigint[]) AND prunable)
      UPDATE ${t.events} AS events SET body = NULL, body_sha256 = given.hash FROM given
      WHERE events.seq = ANY($1::bigint[]) AND events.seq = given.seq`,
    /** As `prune`; the database computes the hashes. */
    pruneMany: `
      WITH shelved AS (UPDATE ${t.shelf} SET pruned = true WHERE seq = ANY($1::bigint[])),
      brought AS (UPDATE ${t.imported} SET prunable = false WHERE seq = ANY($1::bigint[]) AND prunable)
      UPDATE ${t.events} SET body = NULL, body_sha256 = sha256(body) WHERE seq = ANY($1::bigint[])`,
  } as const;
}
