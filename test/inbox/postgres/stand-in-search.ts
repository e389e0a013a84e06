import type { Pool } from 'pg';
import { jsonText } from '../../../src/events/json-tokens.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { StoredEvent } from '../../../src/inbox/event.ts';
import { assertFilter } from '../../../src/inbox/operator/check-filter.ts';
import type { EventFilter } from '../../../src/inbox/operator/filter.ts';
import type { EventSummary, Search } from '../../../src/inbox/operator/search.ts';
import { toText } from '../../../src/inbox/postgres/driver/values.ts';
import type { Finding } from '../../../src/inbox/postgres/operator/operations.ts';
import type { Tables } from '../../../src/inbox/postgres/sql/tables.ts';
import { termsOf } from '../../../src/inbox/rules/search-words.ts';
import { namesIn } from '../../../src/inbox/sqlite/operator/search/body-names.ts';

type StandIn = Pick<Search, 'search' | 'summary' | 'indexNew'> & Omit<Finding, 'search'>;

/** Where the stand-in keeps what it has entered into its index. */
export function standInTable(t: Tables): string {
  return t.events.replace(/events$/, 'stand_in');
}

/** Made afresh for each test; what gets an entity later is entered by it at once. */
export function standInTables(t: Tables): string {
  const table = standInTable(t);
  return `
    DROP TABLE IF EXISTS ${table}; CREATE TABLE ${table} (term text, seq bigint);
    CREATE OR REPLACE FUNCTION ${table}_enter() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN INSERT INTO ${table} VALUES ('entity ' || NEW.entity, NEW.seq); RETURN NULL; END$$;
    CREATE OR REPLACE TRIGGER enter AFTER UPDATE OF entity ON ${t.events} FOR EACH ROW WHEN (NEW.entity IS NOT NULL)
      EXECUTE FUNCTION ${table}_enter()`;
}

/** Finds events by reading all of them, for tests of what goes on from there. */
export function standInSearch(inbox: Inbox, pool: Pick<Pool, 'query'>, t: Tables): StandIn {
  const table = standInTable(t);
  let indexed = 0;
  const namesOf = (body: Uint8Array | null) => namesIn(body === null ? null : jsonText(body));
  return {
    async search(filter, { before, limit = 50 }) {
      const end = before ?? Infinity;
      assertFilter(filter);
      const all = (await everything(inbox)).toReversed().filter(({ seq }) => seq < end);
      const found = all.filter((event) => fits(filter, event)).slice(0, limit);
      const next = found.length === limit ? (found.at(-1)?.seq ?? null) : null;
      return { events: found.map(summaryOf), next, examined: all.filter(({ seq }) => seq >= (next ?? 0)).length };
    },
    async summary(key) {
      const event = await inbox.get(key);
      return event && summaryOf(event);
    },
    async indexNew(limit, upTo) {
      const all = await everything(inbox);
      const last = upTo ?? all.at(-1)?.seq ?? 0;
      for (const { seq, entity, body } of all.filter(({ seq }) => seq > indexed).slice(0, limit)) {
        for (const term of termsOf(entity, namesOf(body))) {
          await pool.query(`INSERT INTO ${table} VALUES ($1, $2)`, [toText(term), seq]);
        }
        indexed = seq;
      }
      return all.filter(({ seq }) => seq > indexed && seq <= last).length;
    },
    noteImported: async () => {},
    entities: {
      async withTerm(session, term, behind, limit) {
        const text = `SELECT DISTINCT seq FROM ${table} WHERE term = $1 AND seq > $2 ORDER BY seq LIMIT $3`;
        return (await session.rows<{ seq: number }>(text, [toText(term), behind, limit])).map(({ seq }) => seq);
      },
      async hasTerm(session, { seq, entity }, term) {
        const known = await session.row(`SELECT 1 FROM ${table} WHERE term = $1 AND seq = $2`, [toText(term), seq]);
        if (known !== undefined) return true;
        const row = await session.row<{ body: Buffer | null }>(`SELECT body FROM ${t.events} WHERE seq = $1`, [seq]);
        return seq > indexed && termsOf(entity, namesOf(row?.body ?? null)).has(term);
      },
      async forget(session, { seq }) {
        await session.run(`DELETE FROM ${table} WHERE seq = $1`, [seq]);
      },
      namesIn: namesOf,
    },
  };
}

async function everything(inbox: Inbox): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const more = await inbox.list({ after: events.at(-1)?.seq ?? 0, limit: 1_000 });
    events.push(...more);
    if (more.length < 1_000) return events;
  }
}

function fits(filter: EventFilter, { state, type, id, entity, receivedAt }: StoredEvent): boolean {
  const { states, types, since, until } = filter;
  return (
    (states?.includes(state) ?? true) &&
    (types?.includes(type ?? '') ?? true) &&
    (filter.id === undefined || filter.id === id) &&
    (filter.entity === undefined || entity === filter.entity || entity?.endsWith(`:${filter.entity}`) === true) &&
    (since === undefined || receivedAt >= since) &&
    (until === undefined || receivedAt < until)
  );
}

function summaryOf({ seq, endpoint, id, type, entity, verified, state, deadReason, receivedAt, body }: StoredEvent) {
  const event = { seq, endpoint, id, type, entity, verified, state, deadReason, receivedAt, pruned: body === null };
  return event as EventSummary; // as much as is asked for
}
