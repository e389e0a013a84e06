import type { CountRow } from '../rules/counted.ts';
import type { Clock, OperatorTables, Statement } from './sql.ts';

/** A rejected delivery. */
export interface Rejection {
  readonly endpoint: string;
  readonly reason: string;
  /** The size, in bytes, of the part of the body that was read. */
  readonly bytes: number | null;
  /** The SHA-256 of the body in lowercase hex, if the body was read. */
  readonly sha256: string | null;
  /** The address of the sender, if the adapter knows it. */
  readonly source: string | null;
}

/** Rejected deliveries that differ only in time. */
export interface RejectedDelivery extends Rejection {
  readonly seq: number;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

type Noted = Rejection & { readonly count: number; readonly at: number };

interface Rejections {
  noteRejected(rejections: readonly Noted[]): Promise<void>;
  rejected(limit: number): Promise<readonly RejectedDelivery[]>;
}

/** What each engine does itself of rejections. */
export interface RejectionEngine {
  /** Adds them to the kinds that are kept. */
  readonly addRejections: (clock: Clock, rejections: readonly Noted[]) => readonly Statement[];
  readonly addCounts: (clock: Clock, rows: readonly CountRow[]) => readonly Statement[];
  /** The kinds that are kept, for `FROM`. */
  readonly rejectedKinds: string;
  /** Leaves one row of each kind, where rejections were only appended. */
  readonly mergeRejections?: () => Promise<unknown>;
}

/** The columns in which kinds differ. */
export const KIND = 'endpoint, reason, bytes, sha256, source';
/** Made-up bodies must not fill the disk: the kinds that were last seen longest ago go. */
export const KINDS_KEPT = 1_000;
const NOTED_AT_ONCE = 250;
/** Longer than any address; a proxy may pass on whatever it was told. */
const MAX_SOURCE = 200;

/** The rejected deliveries of an inbox. */
export function rejections(tables: OperatorTables, engine: RejectionEngine): Rejections {
  return {
    async noteRejected(rejections) {
      for (let at = 0; at < rejections.length; at += NOTED_AT_ONCE) {
        const some = rejections.slice(at, at + NOTED_AT_ONCE);
        const noted = some.map((one) => ({ ...one, source: one.source?.slice(0, MAX_SOURCE) ?? null }));
        const counted = some.map(({ reason, count, at }) => ({ at, what: 'rejected', detail: reason, count }) as const);
        await tables.append((clock) => [...engine.addRejections(clock, noted), ...engine.addCounts(clock, counted)]);
        await engine.mergeRejections?.();
      }
    },
    rejected(limit) {
      const text = `
        SELECT seq, ${KIND}, count, first_ms AS "firstAt", last_ms AS "lastAt" FROM ${engine.rejectedKinds}
        ORDER BY last_ms DESC, seq DESC LIMIT $1`;
      return tables.read(async ({ rows, toCaller }) => {
        const found = await rows<RejectedDelivery & { readonly firstAt: number; readonly lastAt: number }>({
          text,
          values: [Math.min(limit, KINDS_KEPT)],
        });
        const at = (ms: number): Date => new Date(toCaller(ms));
        return found.map((row) => ({ ...row, firstAt: at(row.firstAt), lastAt: at(row.lastAt) }));
      });
    },
  };
}
