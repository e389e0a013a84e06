import { replaceUnprintable } from '../../printable.ts';
import { ADVICE, type Advice } from './advice.ts';
import { duration, isAccepted, tellsToWait, type CheckRun, type Exchange } from './check-run.ts';

/**
 * - `pass`: correct
 * - `fault`: events are lost, forged, taken twice, or rejected
 * - `warning`: no event is harmed, but the response is misleading
 * - `unknown`: not visible from outside
 */
export type Verdict = 'pass' | 'fault' | 'warning' | 'unknown';

export interface Finding {
  readonly verdict: Exclude<Verdict, 'pass'>;
  readonly sent: string;
  readonly received: string;
  readonly why: string;
  readonly mend: string;
}

export interface ProbeOutcome {
  readonly findings: readonly Finding[];
  readonly note?: string;
}

export type Probe = (run: CheckRun) => Promise<ProbeOutcome>;

export function outcome(findings: readonly (Finding | null)[], note?: string): ProbeOutcome {
  return { findings: findings.filter((finding) => finding !== null), ...(note !== undefined && { note }) };
}

/** Makes a finding with this verdict; a response that says "later" makes the finding unknown. */
const finding =
  (verdict: Finding['verdict']) =>
  (sent: string, received: string | Exchange, [why, mend]: Advice): Finding => {
    if (typeof received === 'string') return { verdict, sent, received, why, mend };
    return tellsToWait(received)
      ? unjudged(sent, received)
      : { verdict, sent, received: described(received), why, mend };
  };

export const fault = finding('fault');
export const warning = finding('warning');
export const unknown = finding('unknown');

/** A delivery that had to wait is not judged. */
export function unjudged(sent: string, answer: Exchange): Finding {
  return unknown(sent, described(answer), ADVICE.waitsTwice);
}

const EXCERPT = 160;

export function described(exchange: Exchange): string {
  if (exchange.status === null) return exchange.message;
  const plain = (text: string): string => replaceUnprintable(text, () => ' ').trim();
  const text = plain(exchange.body);
  const excerpt = text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
  const { location } = exchange.headers;
  const place = location === undefined ? '' : `, redirecting to ${plain(location)}`;
  return `${exchange.status} after ${duration(exchange.ms)}${place}${excerpt === '' ? '' : `: ${excerpt}`}`;
}

/** Checks that the response to an authentic delivery is a 2xx. Returns `null` if it is. */
export function notAccepted(sent: string, answer: Exchange, advice?: Advice): Finding | null {
  if (isAccepted(answer)) return null;
  if (answer.status === null) return fault(sent, answer, ADVICE[answer.failure === 'too-late' ? 'noAnswer' : 'cut']);
  return fault(sent, answer, advice ?? adviceFor(answer.status));
}

function adviceFor(status: number): Advice {
  if (status === 401 || status === 403) return ADVICE.takenForForged;
  if (status < 400) return ADVICE.redirects;
  if (status === 404 || status === 405) return ADVICE.noRoute;
  return status < 500 ? ADVICE.refused : ADVICE.failed;
}

export function late(sent: string, ms: number, deadlineMs: number): Finding | null {
  const received = `a 2xx after ${duration(ms)}; the limit is ${duration(deadlineMs)}`;
  if (ms > deadlineMs) return fault(sent, received, ADVICE.late);
  return ms > deadlineMs / 2 ? warning(sent, received, ADVICE.nearlyLate) : null;
}

/** @param hidden - the correct signature of the body; `null` if the request contained it */
export function notRejected(sent: string, answer: Exchange, hidden: string | null, accepted: Advice): Finding | null {
  if (answer.status === null) return fault(sent, answer, ADVICE.cut);
  if (isAccepted(answer)) return fault(sent, answer, accepted);
  const shown = `${answer.body} ${Object.values(answer.headers).join(' ')}`.toLowerCase();
  if (hidden !== null && shown.includes(hidden)) {
    return fault(sent, `${answer.status}, with the correct signature in it`, ADVICE.showsSignature);
  }
  if (answer.status === 401) return null;
  return answer.status >= 500 ? fault(sent, answer, ADVICE.throwsOnForgery) : warning(sent, answer, ADVICE.wrongStatus);
}
