import { duration, type Exchange } from './exchange.ts';
import { replaceUnprintable } from '../../printable.ts';
import { tellsToWait } from './told-to-wait.ts';
import type { Finding, ProbeOutcome } from './check-report.ts';
import { isTaken } from './check-run.ts';

/** What a finding means and what to do about it. */
export interface Advice {
  readonly why: string;
  readonly mend: string;
}

/** What a probe has found; `null` stands for what was right. */
export function outcome(findings: readonly (Finding | null)[], note?: string): ProbeOutcome {
  const found = findings.filter((finding) => finding !== null);
  return { findings: found, ...(note !== undefined && { note }) };
}

/** Events are lost, forged, taken twice, or refused. */
export function fault(sent: string, received: string | Exchange, advice: Advice): Finding {
  return finding('fault', sent, received, advice);
}

/** It harms no event. */
export function warning(sent: string, received: string | Exchange, advice: Advice): Finding {
  return finding('warning', sent, received, advice);
}

/** It cannot be found out. */
export function unknown(sent: string, received: string | Exchange, advice: Advice): Finding {
  return finding('unknown', sent, received, advice);
}

const TOLD_TO_WAIT: Advice = {
  why: 'The endpoint asked hookbox to wait twice, so the check cannot tell how the endpoint handles this delivery.',
  mend: 'During the check, lift the rate limit on the route, or run only a few probes at a time with --only.',
};

/** A delivery that was told to wait is not judged. */
export function toldToWait(sent: string, answer: Exchange): Finding {
  return { verdict: 'unknown', sent, received: described(answer), ...TOLD_TO_WAIT };
}

function finding(
  verdict: Finding['verdict'],
  sent: string,
  received: string | Exchange,
  { why, mend }: Advice,
): Finding {
  if (typeof received === 'string') return { verdict, sent, received, why, mend };
  return tellsToWait(received)
    ? toldToWait(sent, received)
    : { verdict, sent, received: described(received), why, mend };
}

const EXCERPT = 160;

/** An answer on one line, with spaces for what does not print. */
export function described(exchange: Exchange): string {
  if (exchange.status === null) return exchange.message;
  const text = plain(exchange.body);
  const excerpt = text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
  const { location } = exchange.headers;
  const place = location === undefined ? '' : `, redirecting to ${plain(location)}`;
  return `${exchange.status} after ${duration(exchange.ms)}${place}${excerpt === '' ? '' : `: ${excerpt}`}`;
}

function plain(text: string): string {
  return replaceUnprintable(text, () => ' ').trim();
}

const REFUSES_AUTHENTIC: Advice = {
  why: 'The endpoint treats an authentic event as forged. After the last retry, the event is lost.',
  mend:
    'Use the same secret on both sides, without surrounding quotes or newlines. Compute the HMAC over the raw bytes. ' +
    'In ' +
    "Express, give the route express.raw({ type: '*/*' }) and mount it before express.json().",
};
const TOO_LATE: Advice = {
  why: 'The service waits 10 s for a 2xx, then counts the delivery as failed and sends the event again.',
  mend: 'Answer as soon as the event is stored. Then handle the stored event.',
};
const CUT: Advice = {
  why: 'If no status arrives, the service counts the delivery as failed and sends the event again.',
  mend: 'Check the logs of the endpoint and its proxy for an uncaught exception.',
};

/** What is wrong with the answer to an authentic delivery, which has to be a 2xx; `null` for nothing. */
export function notTaken(sent: string, answer: Exchange, advice?: Advice): Finding | null {
  if (isTaken(answer)) return null;
  if (answer.status === null) return fault(sent, answer, answer.failure === 'too-late' ? TOO_LATE : CUT);
  return fault(sent, answer, advice ?? adviceFor(answer.status));
}

const LATE: Advice = {
  why:
    'A delivery succeeds if a 2xx arrives within 10 s. This delivery counts as failed, and the service sends ' +
    'the event again.',
  mend: `${TOO_LATE.mend} Send mail, call other services and write reports after you answer.`,
};
const NEARLY_LATE: Advice = {
  why:
    'The response takes more than half the time that the service allows. Under load or on a slow network, ' +
    'deliveries ' +
    'will fail.',
  mend: LATE.mend,
};

/** A 2xx, and when it came. */
export interface Timing {
  readonly ms: number;
  readonly deadlineMs: number;
}

/** What is wrong with the time that a 2xx took; `null` for nothing. */
export function late(sent: string, { ms, deadlineMs }: Timing): Finding | null {
  const received = `a 2xx after ${duration(ms)}; the limit is ${duration(deadlineMs)}`;
  if (ms > deadlineMs) return fault(sent, received, LATE);
  return ms > deadlineMs / 2 ? warning(sent, received, NEARLY_LATE) : null;
}

function adviceFor(status: number): Advice {
  if (status === 401 || status === 403) return REFUSES_AUTHENTIC;
  if (status < 400) {
    return {
      why: 'A redirect is not a 2xx: the service counts the delivery as failed.',
      mend: 'Register the address that the redirect leads to. Check its scheme, host, path and trailing slash.',
    };
  }
  if (status === 404 || status === 405) {
    return {
      why: 'No route accepts deliveries at this address. After the last retry, every event is lost.',
      mend: 'Check the path, and check that a POST route exists.',
    };
  }
  return {
    why: 'If a delivery gets no 2xx, the service retries it for about a day. Then the event is lost.',
    mend:
      status < 500
        ? 'Store every event and return a 2xx. Then decide how to handle the event.'
        : 'Find the exception in the log of the endpoint. Store the event first, and handle it after you answer.',
  };
}

const TELLS_THE_SIGNATURE: Advice = {
  why: 'The response contains the correct signature of the request, so a forger can copy the signature and send forged events.',
  mend: 'In the response, say only that the signature is wrong. Do not log the expected signature or the secret.',
};
const WRONG_STATUS: Advice = {
  why:
    'The endpoint rejects the delivery, but the contract requires a 401. The service treats any other status as a ' +
    'different fault.',
  mend: 'Return 401 if the signature is missing or does not match.',
};
const THROWS: Advice = {
  why:
    'A sender without the secret can cause this exception. The endpoint rejects the forgery, but its status looks ' +
    'like an outage.',
  mend:
    'Before the comparison, return 401 if the header is missing or is not 64 lowercase hex digits: ' +
    'crypto.timingSafeEqual ' +
    'throws if the lengths differ.',
};

/**
 * What is wrong with the answer to a delivery that is not authentic, which has to be a 401; `null` for nothing.
 *
 * @param hidden - the right signature of what was sent, unless it was shown in some form
 */
export function notRefused(sent: string, answer: Exchange, hidden: string | null, accepted: Advice): Finding | null {
  if (answer.status === null) return fault(sent, answer, CUT);
  if (isTaken(answer)) return fault(sent, answer, accepted);
  const said = `${answer.body} ${Object.values(answer.headers).join(' ')}`.toLowerCase();
  if (hidden !== null && said.includes(hidden)) {
    return fault(sent, `${answer.status}, with the correct signature in it`, TELLS_THE_SIGNATURE);
  }
  if (answer.status === 401) return null;
  return answer.status >= 500 ? fault(sent, answer, THROWS) : warning(sent, answer, WRONG_STATUS);
}
