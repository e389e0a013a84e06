import { TOLERATED_MS } from '../rules/claim.ts';
import { joined, LOST, LOST_REASON } from './sql/records.ts';
import { about, aboutEvents } from './sql/statements.ts';
import { rowOf, type Tables } from './sql/tables.ts';

/**
 * A counter would repeat fences after a fail-over; the time and a random number do not. Below 2^53 until the year 2109.
 */
const FIRST_FENCE = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint * 2048 + floor(random() * 2048)::bigint';

const THESE = 'seq = ANY($1::bigint[])';
/** With the condition on the table itself, Postgres looks rows up one by one. */
const isGiven = (table: string): string => `${table}.seq = ANY($1::bigint[]) AND ${table}.seq = given.seq`;

const DISCARDED = `state = 'discarded', dead_reason = NULL, settled_ms = $2, crashes = 0, trigger = 'auto', fingerprint = NULL`;

const EVENT = 'endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body, trace';
const SAID = 'seq, type, created_ms, created_ns, entity, slot';
/** Of an event that goes to the queue, whose row of `events` has the rest. */
const KEYS = 'seq, type_key, entity_key';

type Values = Readonly<Record<string, string>>;

function insertInto(table: string, values: Values, from: string): string {
  return `INSERT INTO ${table} (${Object.keys(values).join(', ')}) SELECT ${Object.values(values).join(', ')} FROM ${from}`;
}

function of(table: string, columns: string): Values {
  return Object.fromEntries(columns.split(', ').map((column) => [column, `${table}.${column}`]));
}

/**
 * The queue would run every processed event again after the attempts were emptied. A rerun of a lost event gets the
 * next number of attempt.
 */
export function shelveLost(t: Tables, where: string): string {
  return `INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, attempts)
    SELECT events.seq, 'dead', ${LOST_REASON},
      events.endpoint, CASE WHEN length(events.type) <= 150 THEN events.type END,
      (extract(epoch FROM clock_timestamp()) * 1000)::bigint, events.received_ms,
      coalesce((SELECT max(number) FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq), 0)
    FROM ${joined(t)} WHERE ${LOST} AND ${where} ON CONFLICT DO NOTHING`;
}

/** Keeps the names of errors. */
export function pruneErrors(t: Tables): string {
  return `UPDATE ${t.attempts} SET prunable = false, error_message = NULL, error_stack = NULL, skipped = NULL, log = NULL
    WHERE ${THESE} AND (prunable OR error_name IS NOT NULL OR skipped IS NOT NULL OR log IS NOT NULL)`;
}

export type Moves = ReturnType<typeof movesOf>;

/** Only these statements write `events`, `queue` and `shelf`. */
export function movesOf(t: Tables) {
  const taken = (from: string, more = ''): string =>
    `WITH taken AS (DELETE FROM ${from} WHERE ${THESE}${more} RETURNING *)`;
  const unleased = taken(t.queue, ' AND lease_until_ms IS NULL');
  const row = (source: string): string => rowOf(t.events, 'events', `found.seq = ${source}.seq`);
  const unpruned = `brought AS (UPDATE ${t.imported} SET prunable = false WHERE ${THESE} AND prunable)`;
  /** The row of `events` has the current values. */
  const queued = (place: string, more: Values): Values => ({
    ...of(place, 'seq, endpoint'),
    type: 'given.type_key',
    entity: 'given.entity_key',
    ...of('events', 'slot, created_ms, created_ns'),
    ...more,
  });
  const shelved = (state: string, more: Values): Values => ({
    ...of('taken', 'seq, endpoint, type, due_ms, attempts, fence'),
    state: `'${state}'`,
    ...more,
  });
  /** Stores new events from `given`, and notes that they are not indexed. */
  const stored = (columns: string, where = ''): string => `
    stored AS (
      INSERT INTO ${t.events} (${columns}) SELECT ${columns} FROM given ${where} ORDER BY place
      ON CONFLICT (id, endpoint) DO NOTHING
      RETURNING seq, endpoint, id
    ), about AS (
      SELECT stored.seq, given.* FROM stored JOIN given ON given.id = stored.id AND given.endpoint = stored.endpoint
    ), noted AS (
      INSERT INTO ${t.unindexed} (first, count, seqs) SELECT min(seq), count(*), array_agg(seq) FROM stored HAVING count(*) > 0
    )`;

  return {
    /**
     * Those with a `claimed_ms` get a lease. Looks for known events first, because a conflict in the index of keys
     * would use up a number. Counts deliveries as rules/accept.ts does, in the minute `$20`.
     */
    insert: about(
      `${EVENT}, type_key, entity_key, valid, counted, claimed_ms, lease_until_ms, in_order, claim, place`,
      (given) => `
      WITH given AS (
        SELECT DISTINCT ON (id, endpoint) * FROM ${given} ORDER BY id, endpoint, place
      ), ${stored(
        EVENT,
        `WHERE (SELECT 1 FROM ${t.events} AS known WHERE known.id = given.id AND known.endpoint = given.endpoint) IS NULL`,
      )}, queued AS (
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
      ), counted AS (
        INSERT INTO ${t.counts} (minute_ms, what, detail, count)
        SELECT $20::bigint, what, counted, count(*)
        FROM about CROSS JOIN unnest(CASE WHEN valid THEN '{stored}' ELSE '{stored,dead}'::text[] END) AS what
        GROUP BY what, counted
      )
      -- Beside each other, as a join of what was written has no index: it cost a fifth of all.
      SELECT seq, endpoint, id, NULL::bigint AS fence, (SELECT count(*) FROM queued) + (SELECT count(*) FROM shelved) AS placed
      FROM stored UNION ALL SELECT seq, NULL, NULL, fence, NULL FROM queued WHERE fence > 0`,
    ),
    markVerified: aboutEvents(`UPDATE ${t.events} SET verified = true WHERE ${THESE}`),
    /** New bodies replace the stored ones. */
    replaceEvents: about(
      `${SAID}, verified, body, trace`,
      (given) => `
      UPDATE ${t.events} AS events
      SET type = given.type, created_ms = given.created_ms, created_ns = given.created_ns, entity = given.entity,
        slot = given.slot, verified = given.verified, body = given.body, body_sha256 = NULL,
        trace = coalesce(given.trace, events.trace)
      FROM ${given} WHERE ${isGiven('events')}`,
    ),
    /** In the state of new arrivals. */
    requeue: about(
      KEYS,
      (given) => `
      UPDATE ${t.queue} AS queue
      SET type = given.type_key, entity = given.entity_key, slot = events.slot, created_ms = events.created_ms,
        created_ns = events.created_ns, fresh = true, parked = false, failures = 0, crashes = 0, yields = false
      FROM ${given} CROSS JOIN ${row('given')} WHERE ${isGiven('queue')}`,
    ),
    /** `$4`: in the state of new arrivals. */
    unshelve: about(
      KEYS,
      (given) =>
        `${taken(t.shelf)} ${insertInto(
          t.queue,
          queued('taken', {
            ...of('taken', 'due_ms, attempts, trigger, fence'),
            fresh: '$4::boolean',
            failures: 'CASE WHEN $4::boolean THEN 0 ELSE taken.failures END',
            crashes: 'CASE WHEN $4::boolean THEN 0 ELSE taken.crashes END',
          }),
          `taken JOIN ${given} ON given.seq = taken.seq CROSS JOIN ${row('taken')}`,
        )}`,
    ),
    shelveInvalid: about(
      'seq, type_key, settled_ms',
      (given) =>
        `${taken(t.queue)} ${insertInto(
          t.shelf,
          {
            ...shelved('dead', of('taken', 'trigger')),
            dead_reason: "'invalid'",
            type: 'given.type_key',
            settled_ms: 'given.settled_ms',
          },
          `taken JOIN ${given} ON given.seq = taken.seq`,
        )}`,
    ),
    stayInvalid: about(
      'seq, type_key, settled_ms',
      (given) => `
      UPDATE ${t.shelf} AS shelf
      SET state = 'dead', dead_reason = 'invalid', type = given.type_key, settled_ms = given.settled_ms, fingerprint = NULL,
        failures = 0, crashes = 0, pruned = false
      FROM ${given} WHERE ${isGiven('shelf')}`,
    ),

    /** Events from the future arrived before the clock was set back. */
    indexNew: (now: string) => `
      UPDATE ${t.queue} SET due_ms = ${now}::bigint, fresh = false
      WHERE fresh AND due_ms + 1 > ${now}::bigint + ${TOLERATED_MS + 1}`,
    park: aboutEvents(`UPDATE ${t.queue} SET parked = true, fresh = false WHERE ${THESE}`),
    unpark: aboutEvents(`UPDATE ${t.queue} SET parked = false WHERE ${THESE} AND parked`),
    /** `$2` to `$6`: the start, the end, whether in order, whether the only suspect, and the number of the claim. */
    claim: aboutEvents(`
      WITH claimed AS (
        UPDATE ${t.queue}
        SET claimed_ms = $2, lease_until_ms = $3, claim = $6, fence = greatest(fence + 1, ${FIRST_FENCE}),
          attempts = attempts + 1, parked = false, fresh = false, closing = false,
          leased_entity = CASE WHEN $4::boolean THEN entity END,
          leased_suspect = CASE WHEN $5::boolean AND crashes > 0 THEN true END
        WHERE ${THESE} AND lease_until_ms IS NULL
        RETURNING seq, fence, attempts, failures
      )
      SELECT claimed.*, events.endpoint, events.id, events.body, events.verified, events.received_ms, events.trace
      FROM claimed CROSS JOIN ${row('claimed')}`),
    /** `$3`: the new end; `$4`: whether its processor is closing. */
    renew: about(
      'seq, fence',
      (given) => `
      UPDATE ${t.queue} AS queue SET lease_until_ms = $3, closing = $4
      FROM ${given} WHERE ${isGiven('queue')} AND queue.fence = given.fence AND queue.lease_until_ms IS NOT NULL
      RETURNING queue.seq, queue.fence`,
    ),
    /** `$2` and `$3`: the time, and the superseding event. */
    superseded: aboutEvents(
      `${unleased} ${insertInto(
        t.attempts,
        {
          ...of('taken', 'seq, endpoint'),
          number: 'taken.attempts + 1',
          trigger: "'auto'",
          outcome: "'superseded'",
          fence: '0',
          started_ms: '$2::bigint',
          ended_ms: '$2::bigint',
          prunable: 'true',
          skipped: '$3::text',
        },
        'taken',
      )}`,
    ),
    postpone: about(
      'seq, due_ms',
      (given) => `
      UPDATE ${t.queue} AS queue SET due_ms = given.due_ms, fresh = false FROM ${given} WHERE ${isGiven('queue')}`,
    ),
    /** Also ends the lease of an event that was processed before. */
    toProcessed: aboutEvents(`DELETE FROM ${t.queue} WHERE ${THESE}`),
    processedUnderLease: aboutEvents(`UPDATE ${t.queue} SET processed = true WHERE ${THESE}`),
    toRetry: about(
      'seq, due_ms, failed, crashed, yields',
      (given) => `
      UPDATE ${t.queue} AS queue
      SET due_ms = given.due_ms, failures = queue.failures + given.failed, crashes = queue.crashes + given.crashed,
        yields = coalesce(given.yields, queue.yields), trigger = 'auto', claimed_ms = NULL, lease_until_ms = NULL,
        leased_entity = NULL, leased_suspect = NULL
      FROM ${given} WHERE ${isGiven('queue')}`,
    ),
    toDead: about(
      'seq, dead_reason, settled_ms, fingerprint, failed, crashed',
      (given) =>
        `${taken(t.queue)} ${insertInto(
          t.shelf,
          shelved('dead', {
            ...of('given', 'dead_reason, settled_ms, fingerprint'),
            failures: 'taken.failures + given.failed',
            crashes: 'taken.crashes + given.crashed',
          }),
          `taken JOIN ${given} ON given.seq = taken.seq`,
        )}`,
    ),
    toIgnored: aboutEvents(
      `${unleased} ${insertInto(
        t.shelf,
        shelved('ignored', { settled_ms: '$2', ...of('taken', 'failures, crashes, trigger') }),
        'taken',
      )}`,
    ),

    /** A search would not find a lost event under its state. */
    shelveLost: aboutEvents(shelveLost(t, 'events.seq = ANY($1::bigint[])')),

    /** Numbers of attempts continue; attempts before the rerun no longer make a body prunable. */
    processedToPending: about(
      KEYS,
      (given) => `
      WITH kept AS (UPDATE ${t.attempts} SET prunable = false WHERE ${THESE} AND prunable),
      taken AS (DELETE FROM ${t.imported} WHERE ${THESE} RETURNING seq, attempts)
      ${insertInto(
        t.queue,
        queued('events', {
          due_ms: '$4',
          fresh: 'false',
          attempts: `coalesce((SELECT attempts FROM taken WHERE taken.seq = events.seq),
            (SELECT max(number) FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq), 0)`,
          trigger: "'manual'",
        }),
        `${given} CROSS JOIN ${row('given')} WHERE events.body IS NOT NULL AND events.erased_ms IS NULL`,
      )}`,
    ),
    /** Writes the values that the current schemas read, if they differ. */
    describeMany: about(
      SAID,
      (given) => `
      UPDATE ${t.events} AS events
      SET type = given.type, created_ms = given.created_ms, created_ns = given.created_ns, entity = given.entity, slot = given.slot
      FROM ${given} WHERE ${isGiven('events')}
        AND (events.type, events.created_ms, events.created_ns, events.entity, events.slot)
          IS DISTINCT FROM (given.type, given.created_ms, given.created_ns, given.entity, given.slot)`,
    ),
    unshelveMany: about(
      KEYS,
      (given) =>
        `${taken(t.shelf)} ${insertInto(
          t.queue,
          queued('taken', { ...of('taken', 'attempts, fence'), due_ms: '$4', fresh: 'false', trigger: "'manual'" }),
          `taken JOIN ${given} ON given.seq = taken.seq CROSS JOIN ${row('taken')}`,
        )}`,
    ),
    /** Invalid events get the type and the time that the current schemas read. */
    describeInvalid: about(
      'seq, type, created_ms, created_ns',
      (given) => `
      UPDATE ${t.events} AS events SET type = given.type, created_ms = given.created_ms, created_ns = given.created_ns
      FROM ${given} WHERE ${isGiven('events')}`,
    ),
    discardInvalid: aboutEvents(`
      UPDATE ${t.shelf} AS shelf SET type = given.type, ${DISCARDED} FROM unnest($1::bigint[], $3::text[]) AS given (seq, type)
      WHERE ${isGiven('shelf')} AND state = 'dead'`),
    discardDead: aboutEvents(`UPDATE ${t.shelf} SET ${DISCARDED} WHERE ${THESE} AND state = 'dead'`),
    discardPending: aboutEvents(
      `${unleased} ${insertInto(
        t.shelf,
        shelved('discarded', { settled_ms: '$2::bigint', failures: 'taken.failures' }),
        'taken',
      )}`,
    ),
    retryNow: aboutEvents(`
      UPDATE ${t.queue} SET due_ms = $2::bigint WHERE ${THESE} AND lease_until_ms IS NULL AND due_ms > $2::bigint`),

    erase: about(
      'seq, slot',
      (given) => `
      UPDATE ${t.events} AS events SET body = NULL, body_sha256 = coalesce(sha256(body), body_sha256), entity = NULL,
        slot = given.slot, erased_ms = $3, trace = NULL
      FROM ${given} WHERE ${isGiven('events')}`,
    ),
    erasePending: aboutEvents(
      `${unleased} ${insertInto(
        t.shelf,
        shelved('discarded', { settled_ms: '$2', ...of('taken', 'failures, crashes'), pruned: 'true' }),
        'taken',
      )}`,
    ),
    eraseSettled: aboutEvents(`
      WITH brought AS (UPDATE ${t.imported} SET prunable = false, trigger = 'auto' WHERE ${THESE})
      UPDATE ${t.shelf} SET pruned = true, trigger = 'auto', fingerprint = NULL WHERE ${THESE}`),

    /** All of them, in their order, unless another transaction has just stored one. */
    importEvents: about(
      `${EVENT}, body_sha256, erased_ms, type_key, entity_key, state, dead_reason, settled_ms, due_ms, attempts, failures, crashes, trigger, fingerprint, yields, place`,
      (given) => `
      WITH given AS (SELECT * FROM ${given}), ${stored(`${EVENT}, body_sha256, erased_ms`)}, queued AS (
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
      ), placed AS (SELECT seq FROM queued UNION ALL SELECT seq FROM shelved UNION ALL SELECT seq FROM brought)
      SELECT seq, (SELECT count(*) FROM placed) AS placed FROM about ORDER BY place`,
    ),

    moveLeases: `
      UPDATE ${t.queue} SET lease_until_ms = greatest($2::bigint, lease_until_ms - $1::bigint) WHERE lease_until_ms > $2::bigint`,
    moveDue: `
      UPDATE ${t.queue} SET due_ms = greatest($2::bigint, due_ms - $1::bigint)
      WHERE due_ms > $2::bigint AND lease_until_ms IS NULL AND NOT fresh`,

    /** With the messages of errors, and other bodies beside them. */
    pruneProcessed: aboutEvents(`
      WITH ${unpruned}, tried AS (${pruneErrors(t)}), beside AS (DELETE FROM ${t.conflicts} WHERE ${THESE}),
        steps AS (DELETE FROM ${t.steps} WHERE ${THESE})
      UPDATE ${t.events} SET body = NULL, body_sha256 = sha256(body) WHERE ${THESE} AND body IS NOT NULL`),
    pruneMany: aboutEvents(`
      WITH shelved AS (UPDATE ${t.shelf} SET pruned = true WHERE ${THESE}), ${unpruned}
      UPDATE ${t.events} SET body = NULL, body_sha256 = sha256(body) WHERE ${THESE}`),
  } as const;
}
