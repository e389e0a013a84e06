import type { Transfer } from '../../../operator/transfer.ts';
import { importEvents, tryImport, type Imports, type KnownBodies } from '../../../rules/import-events.ts';
import { answer, atOnce, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { auditLines } from '../audit/audit-line.ts';
import { noteOutOfOrder } from '../search/received-times.ts';
import { keyIs } from '../../sql/event-key.ts';

export function importing(access: Access): Pick<Transfer, 'importSome'> {
  return {
    async importSome(records, { audit, dryRun = false } = {}) {
      if (dryRun) return atOnce(tryImport(knownBodies(access.database()), records));
      const counts = await access.write((statements) => atOnce(importEvents(imports(statements), records, audit)));
      if (counts.imported > 0) access.notify();
      return counts;
    },
  };
}

interface BodyRow {
  readonly body: Uint8Array | null;
  readonly hash: Uint8Array | null;
}

function knownBodies(database: SqliteDatabase): KnownBodies {
  const found = statement(database, `SELECT body, body_sha256 AS hash FROM hookbox_events WHERE ${keyIs()}`);
  return { bodyOfKey: ({ id, endpoint }) => answer(found.get({ id, endpoint }) as BodyRow | undefined) };
}

function imports({ database, engine, moves, queue }: Statements): Imports {
  return {
    ...engine,
    ...knownBodies(database),
    ...auditLines(database),
    importEvent(event) {
      const { lastInsertRowid: seq } = moves.importEvent.run({
        endpoint: event.endpoint,
        id: event.id,
        type: event.type,
        createdMs: event.created?.ms ?? null,
        createdNs: event.created?.ns ?? null,
        entity: event.entity,
        verified: event.verified ? 1 : 0,
        state: event.state,
        deadReason: event.deadReason,
        receivedMs: event.receivedMs,
        settledMs: event.settledMs,
        dueMs: event.dueMs,
        begun: event.begun,
        failures: event.failures,
        crashes: event.crashes,
        trigger: event.trigger,
        fingerprint: event.fingerprint,
        erasedMs: event.erasedMs,
        body: event.body,
        sha256: event.sha256,
        trace: event.trace ?? null,
        yields: event.yields === true ? 1 : 0,
      });
      return answer(Number(seq));
    },
    importAttempt(seq, { number, trigger, outcome, startedMs, endedMs, error, skipped }) {
      queue.addAttempt.run({
        foundBy: null,
        seq,
        number,
        trigger,
        outcome,
        started: startedMs,
        ended: endedMs,
        name: error?.name ?? null,
        message: error?.message ?? null,
        stack: error?.stack ?? null,
        skipped: skipped ?? null,
      });
      return DONE;
    },
    noteImported(firstSeq, lastSeq) {
      noteOutOfOrder(database, firstSeq, lastSeq);
      return DONE;
    },
  };
}
