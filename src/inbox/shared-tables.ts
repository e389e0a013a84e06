/** The tables that SQLite and Postgres share, with those whose columns differ. */
export const sharedTables = [
  'events',
  'attempts',
  'entities',
  'handling',
  'processors',
  'audit',
  'event_acts',
  'counts',
  'count_sums',
  'rejected',
  'marks',
  'pauses',
  'breakers',
  'rates',
  'acknowledged',
  'terms',
  'progress',
  'redeliveries',
  'conflicts',
  'steps',
  'bulks',
  'bulk_events',
] as const;

/** By their names in the database. */
export type SharedTables = Readonly<Record<(typeof sharedTables)[number], string>>;

/** The differences between the databases in the tables that SQLite and Postgres share. */
interface TableWords {
  readonly t: SharedTables;
  /** a number that identifies, or a time */
  readonly int: string;
  readonly small: string;
  readonly text: string;
  readonly bytes: string;
  /** the key of a table that numbers its rows */
  readonly numbered: string;
  readonly flag: (column: string) => string;
  readonly json: (column: string, check?: string) => string;
  readonly refersTo: (table: 'events' | 'audit' | 'bulks', column?: string) => string;
  /** ends a table that numbers its rows, or has one key of a number */
  readonly end: string;
  /** ends a table with another key */
  readonly keyed: string;
}

export function createSharedTables(words: TableWords): string {
  const { t, int, small, text, bytes, numbered, flag, json, refersTo, end, keyed } = words;
  const occurrences = `
      seq      ${int} PRIMARY KEY${refersTo('events')},
      count    ${int} NOT NULL CHECK (count > 0),
      first_ms ${int} NOT NULL,
      last_ms  ${int} NOT NULL,
      recent   ${json('recent', 'json_array_length(recent) BETWEEN 1 AND 20')}`;
  return `
    CREATE TABLE ${t.redeliveries} (${occurrences}
    )${end};
    CREATE TABLE ${t.conflicts} (${occurrences},
      body     ${bytes} NOT NULL
    )${end};

    -- What ctx.once has run; the result is JSON, and NULL for undefined.
    CREATE TABLE ${t.steps} (
      seq     ${int} NOT NULL${refersTo('events')},
      name    ${text} NOT NULL,
      attempt ${int} NOT NULL,
      at_ms   ${int} NOT NULL,
      result  ${text},
      PRIMARY KEY (seq, name)
    )${keyed};

    -- The newest processed event of each entity outlives the events.
    CREATE TABLE ${t.entities} (
      entity     ${text} NOT NULL,
      endpoint   ${text} NOT NULL,
      created_ms ${int} NOT NULL,
      created_ns ${small} NOT NULL,
      PRIMARY KEY (entity, endpoint)
    )${keyed};

    CREATE TABLE ${t.handling} (
      endpoint ${text} NOT NULL,
      type     ${text} NOT NULL,
      seen_ms  ${int} NOT NULL,
      PRIMARY KEY (endpoint, type)
    )${keyed};
    -- A processor counts as ended after ten silent minutes.
    CREATE TABLE ${t.processors} (
      name       ${text} PRIMARY KEY,
      endpoints  ${json('endpoints')},
      types      ${json('types')},
      started_ms ${int} NOT NULL,
      seen_ms    ${int} NOT NULL
    )${keyed};
    CREATE TABLE ${t.pauses} (
      endpoint ${text} NOT NULL,
      type     ${text} NOT NULL,
      since_ms ${int} NOT NULL,
      actor    ${text} NOT NULL,
      reason   ${text},
      until_ms ${int},
      failures ${int},
      PRIMARY KEY (endpoint, type)
    )${keyed};
    -- Failures in a row of types with a breaker (rules/breakers.ts).
    CREATE TABLE ${t.breakers} (
      endpoint ${text} NOT NULL,
      type     ${text} NOT NULL,
      failures ${int} NOT NULL,
      PRIMARY KEY (endpoint, type)
    )${keyed};
    -- How often attempts may begin, and when they began (rules/rates.ts).
    CREATE TABLE ${t.rates} (
      endpoint ${text} NOT NULL,
      type     ${text} NOT NULL,
      count    ${int} NOT NULL,
      per_ms   ${int} NOT NULL,
      kept_ms  ${int} NOT NULL,
      but      ${text},
      starts   ${text} NOT NULL,
      PRIMARY KEY (endpoint, type)
    )${keyed};

    -- Groups of dead events; the time is that of the last death.
    CREATE TABLE ${t.acknowledged} (
      print   ${text} PRIMARY KEY,
      at_ms   ${int} NOT NULL,
      actor   ${text} NOT NULL,
      reason  ${text},
      link    ${text},
      count   ${int} NOT NULL,
      last_ms ${int} NOT NULL
    )${keyed};

    -- Operators find events by terms such as 'entity ord_42'. Filled later.
    CREATE TABLE ${t.terms} (
      term ${text} NOT NULL,
      seq  ${int} NOT NULL,
      PRIMARY KEY (term, seq)
    )${keyed};
    CREATE TABLE ${t.progress} (
      what ${text} PRIMARY KEY,
      seq  ${int} NOT NULL
    )${keyed};

    CREATE TABLE ${t.count_sums} (
      per    ${text} NOT NULL CHECK (per IN ('minute', 'hour', 'all')),
      at_ms  ${int} NOT NULL,
      what   ${text} NOT NULL,
      detail ${text} NOT NULL,
      count  ${int} NOT NULL,
      PRIMARY KEY (per, at_ms, what, detail)
    )${keyed};
    CREATE TABLE ${t.rejected} (
      seq      ${numbered},
      endpoint ${text} NOT NULL,
      reason   ${text} NOT NULL,
      bytes    ${int},
      sha256   ${text},
      source   ${text},
      count    ${int} NOT NULL CHECK (count > 0),
      first_ms ${int} NOT NULL,
      last_ms  ${int} NOT NULL
    )${end};

    -- New releases, and new secrets of endpoints.
    CREATE TABLE ${t.marks} (
      seq      ${numbered},
      kind     ${text} NOT NULL,
      name     ${text} NOT NULL,
      -- of the processes with this release; '*' for several
      endpoint ${text} NOT NULL,
      at_ms    ${int} NOT NULL,
      -- when a process last reported it, and when its last process ended
      seen_ms  ${int} NOT NULL,
      ended_ms ${int}
    )${end};

    CREATE TABLE ${t.audit} (
      seq    ${numbered},
      at_ms  ${int} NOT NULL,
      actor  ${text} NOT NULL,
      via    ${text} NOT NULL CHECK (via IN ('code', 'cli', 'page')),
      act    ${text} NOT NULL,
      reason ${text},
      filter ${json('filter')},
      counts ${json('counts')}
    )${end};
    CREATE TABLE ${t.event_acts} (
      seq   ${int} NOT NULL,
      audit ${int} NOT NULL${refersTo('audit')},
      at_ms ${int} NOT NULL,
      PRIMARY KEY (seq, audit)
    )${keyed};

    CREATE TABLE ${t.bulks} (
      id           ${numbered},
      act          ${text} NOT NULL CHECK (act IN ('rerun', 'discard', 'retry-now')),
      state        ${text} NOT NULL CHECK (state IN ('filling', 'previewed', 'running', 'paused', 'done', 'cancelled')),
      force        ${flag('force')},
      filter       ${json('filter')},
      actor        ${text} NOT NULL,
      reason       ${text},
      created_ms   ${int} NOT NULL,
      started_ms   ${int},
      ended_ms     ${int},
      total        ${small} NOT NULL DEFAULT 0,
      breakdown    ${json('breakdown')} DEFAULT '{}',
      worked       ${small} NOT NULL DEFAULT 0,
      -- up to this event all have a result
      reached      ${int} NOT NULL DEFAULT 0,
      counts       ${json('counts')} DEFAULT '{}',
      audit        ${int}${refersTo('audit')},
      -- events per second, of its latest run: a number as text, because it may be Infinity
      rate         ${text},
      -- how long it has run, without pauses
      ran_ms       ${int} NOT NULL DEFAULT 0,
      -- the last report of its process, and whether it stops
      heartbeat_ms ${int},
      stopped      ${flag('stopped')},
      CONSTRAINT ended_bulks_have_a_time CHECK ((state IN ('done', 'cancelled')) = (ended_ms IS NOT NULL)),
      CONSTRAINT started_bulks_are_audited CHECK (started_ms IS NULL OR audit IS NOT NULL)
    )${end};
    CREATE TABLE ${t.bulk_events} (
      bulk   ${int} NOT NULL${refersTo('bulks', 'id')},
      seq    ${int} NOT NULL,
      result ${text},
      PRIMARY KEY (bulk, seq)
    )${keyed};
`;
}
