import type { BreakerEnd, BreakerNews } from '../work.ts';
import { auditLine, isLane, pauseWrite, type EndpointType, type StoredPause, type Write } from './pauses.ts';

const BY_BREAKER = 'breaker';
const REASON_CHARACTERS = 100;

/** The end of an attempt of a type with a breaker, at a time of the database's clock. */
export interface BreakerReport extends EndpointType, BreakerEnd {
  readonly now: number;
  /** the name of the error; `null` for success */
  readonly failed: string | null;
}

export function breakerReport(
  { endpoint, type }: { readonly endpoint: string; readonly type: string | null },
  end: BreakerEnd | undefined,
  failed: string | null,
  now: number,
): BreakerReport | null {
  return end === undefined || type === null || !isLane({ endpoint, type })
    ? null
    : { endpoint, type, ...end, failed, now };
}

export interface KnownBreaker {
  /** failures in a row */
  readonly failures: number;
  /** any pause of the type */
  readonly pause: StoredPause | null;
}

interface BreakerPlan {
  readonly failures: number;
  readonly pause: StoredPause | null;
  readonly news: BreakerNews | null;
}

export type NewsOfBreakers = ReadonlyMap<BreakerReport, BreakerNews>;

export const NO_NEWS: NewsOfBreakers = new Map();

/** For the audit. */
const ACTS: Readonly<Partial<Record<BreakerNews, 'pause' | 'resume'>>> = {
  'breaker opened': 'pause',
  'breaker closed': 'resume',
};

/**
 * Any success closes the breaker. After `limit` failures in a row, it opens. While it is open, only the probe's failure
 * prolongs the pause: other attempts began before. An operator's pause stays.
 */
export function planBreaker({ failures: before, pause }: KnownBreaker, report: BreakerReport): BreakerPlan {
  const { endpoint, type, now, failed, limit, probeMs, isProbe, isUnclear } = report;
  const isOpen = pause?.failures !== undefined;
  if (isUnclear) {
    const next = isOpen && isProbe ? { ...pause, until: new Date(now) } : pause;
    return { failures: before, pause: next, news: null };
  }
  if (failed === null) return { failures: 0, pause: isOpen ? null : pause, news: isOpen ? 'breaker closed' : null };
  const failures = before + 1;
  const isOperators = pause !== null && pause.until === undefined;
  if (isOperators || (isOpen ? !isProbe : failures < limit)) return { failures, pause, news: null };
  const paused = isOpen ? 0 : (pause?.until?.getTime() ?? 0);
  const until = new Date(Math.max(now + probeMs, paused));
  const since = isOpen ? pause.since : new Date(now);
  const reason = failed.trim().slice(0, REASON_CHARACTERS).toWellFormed();
  const opened = { endpoint, type, since, actor: BY_BREAKER, reason: reason === '' ? null : reason, until, failures };
  return { failures, pause: opened, news: isOpen ? 'probe failed' : 'breaker opened' };
}

interface Tables {
  readonly pauses: string;
  readonly breakers: string;
  readonly audit: string;
}

/** A success without earlier failures writes nothing. */
export function breakerWrites(
  t: Tables,
  known: KnownBreaker,
  report: BreakerReport,
): { readonly writes: readonly Write[]; readonly news: BreakerNews | null } {
  const plan = planBreaker(known, report);
  const { endpoint, type, now } = report;
  const lane = [endpoint, type];
  const writes: Write[] = [];
  if (plan.failures > 0) {
    const text = `INSERT INTO ${t.breakers} (endpoint, type, failures) VALUES ($1, $2, $3)
      ON CONFLICT (endpoint, type) DO UPDATE SET failures = excluded.failures`;
    writes.push({ text, values: [...lane, plan.failures] });
  } else if (known.failures > 0) {
    writes.push({ text: `DELETE FROM ${t.breakers} WHERE endpoint = $1 AND type = $2`, values: lane });
  }
  if (plan.pause === null && known.pause !== null) {
    writes.push({ text: `DELETE FROM ${t.pauses} WHERE endpoint = $1 AND type = $2`, values: lane });
  } else if (plan.pause !== null && plan.pause !== known.pause) {
    writes.push(pauseWrite(t.pauses, plan.pause));
  }
  const { news } = plan;
  const act = news === null ? undefined : ACTS[news];
  if (act !== undefined) {
    const counts = act === 'pause' ? { failures: plan.failures } : {};
    writes.push(
      auditLine(t.audit, { act, actor: BY_BREAKER, reason: plan.pause?.reason ?? null, now }, report, counts),
    );
  }
  return { writes, news };
}

/** The open breakers that let an event probe now. */
export function readyToProbe(pauses: readonly StoredPause[], now: number): readonly StoredPause[] {
  return pauses.filter(
    ({ failures, until }) => failures !== undefined && until !== undefined && until.getTime() <= now,
  );
}

/** The maximum time of a probe's attempt. During this time, no other probe begins. */
export type ProbeTimes = Readonly<Record<string, number>>;

export interface ProbeBegun extends EndpointType {
  readonly until: number;
}

export function probeBegun(
  { endpoint, type }: EndpointType,
  { now, leaseMs, probes = {} }: { readonly now: number; readonly leaseMs: number; readonly probes?: ProbeTimes },
): ProbeBegun {
  const ms = (Object.hasOwn(probes, type) ? probes[type] : probes['*']) ?? leaseMs;
  return { endpoint, type, until: now + ms };
}
