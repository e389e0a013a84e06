import { replaceUnprintable } from '../../printable.ts';
import { duration, FORMS, isAccepted, tellsToWait, type CheckRun, type Exchange, type NoCount } from './check-run.ts';

/**
 * - `pass`: right
 * - `fault`: events are lost, forged, taken twice, or rejected
 * - `warning`: harms no event, but the endpoint says something other than it means
 * - `unknown`: cannot be seen from outside
 */
export type Verdict = 'pass' | 'fault' | 'warning' | 'unknown';

export interface Advice {
  readonly why: string;
  readonly mend: string;
}

export interface Finding extends Advice {
  readonly verdict: Exclude<Verdict, 'pass'>;
  readonly sent: string;
  readonly received: string;
}

/** The findings of a probe. A probe without findings has passed. */
export interface ProbeOutcome {
  readonly findings: readonly Finding[];
  /** the reason for the verdict, or a further observation */
  readonly note?: string;
}

export type Probe = (run: CheckRun) => Promise<ProbeOutcome>;

/** Collects the findings of a probe. Each `null` stands for a correct answer. */
export function outcome(findings: readonly (Finding | null)[], note?: string): ProbeOutcome {
  return { findings: findings.filter((finding) => finding !== null), ...(note !== undefined && { note }) };
}

/** Makes a finding of this verdict; an answer that says "later" makes it an unknown one. */
const finding =
  (verdict: Finding['verdict']) =>
  (sent: string, received: string | Exchange, { why, mend }: Advice): Finding => {
    if (typeof received === 'string') return { verdict, sent, received, why, mend };
    if (tellsToWait(received)) return toldToWait(sent, received);
    return { verdict, sent, received: described(received), why, mend };
  };

export const fault = finding('fault');
export const warning = finding('warning');
export const unknown = finding('unknown');

/** A delivery that had to wait is not judged. */
export function toldToWait(sent: string, answer: Exchange): Finding {
  return unknown(sent, described(answer), {
    why: 'The endpoint asked hookbox to wait twice, so the check cannot tell how the endpoint handles this delivery.',
    mend: 'During the check, lift the rate limit on the route, or run only a few probes at a time with --only.',
  });
}

const EXCERPT = 160;

/** An answer on one line, with spaces for what does not print. */
export function described(exchange: Exchange): string {
  if (exchange.status === null) return exchange.message;
  const plain = (text: string): string => replaceUnprintable(text, () => ' ').trim();
  const text = plain(exchange.body);
  const excerpt = text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
  const { location } = exchange.headers;
  const place = location === undefined ? '' : `, redirecting to ${plain(location)}`;
  return `${exchange.status} after ${duration(exchange.ms)}${place}${excerpt === '' ? '' : `: ${excerpt}`}`;
}

const TOO_LATE: Advice = {
  why: 'The service waits 10 s for a 2xx, then counts the delivery as failed and sends the event again.',
  mend: 'Answer as soon as the event is stored. Then handle the stored event.',
};
const CUT: Advice = {
  why: 'If no status arrives, the service counts the delivery as failed and sends the event again.',
  mend: 'Check the logs of the endpoint and its proxy for an uncaught exception.',
};

/** Checks that the answer to an authentic delivery is a 2xx. Returns `null` if it is. */
export function notAccepted(sent: string, answer: Exchange, advice?: Advice): Finding | null {
  if (isAccepted(answer)) return null;
  if (answer.status === null) return fault(sent, answer, answer.failure === 'too-late' ? TOO_LATE : CUT);
  return fault(sent, answer, advice ?? adviceFor(answer.status));
}

function adviceFor(status: number): Advice {
  if (status === 401 || status === 403) {
    return {
      why: 'The endpoint treats an authentic event as forged. After the last retry, the event is lost.',
      mend:
        'Use the same secret on both sides, without surrounding quotes or newlines. Compute the HMAC over the raw bytes. ' +
        "In Express, give the route express.raw({ type: '*/*' }) and mount it before express.json().",
    };
  }
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

const LATE: Advice = {
  why: 'A delivery succeeds if a 2xx arrives within 10 s. This delivery counts as failed, and the service sends the event again.',
  mend: `${TOO_LATE.mend} Send mail, call other services and write reports after you answer.`,
};
const NEARLY_LATE: Advice = {
  why: 'The response takes more than half the time that the service allows. Under load or on a slow network, deliveries will fail.',
  mend: LATE.mend,
};

/** Checks that a 2xx came in time. Returns `null` if it did. */
export function late(sent: string, ms: number, deadlineMs: number): Finding | null {
  const received = `a 2xx after ${duration(ms)}; the limit is ${duration(deadlineMs)}`;
  if (ms > deadlineMs) return fault(sent, received, LATE);
  return ms > deadlineMs / 2 ? warning(sent, received, NEARLY_LATE) : null;
}

const TELLS_THE_SIGNATURE: Advice = {
  why: 'The response contains the correct signature of the request, so a forger can copy the signature and send forged events.',
  mend: 'In the response, say only that the signature is wrong. Do not log the expected signature or the secret.',
};
const WRONG_STATUS: Advice = {
  why: 'The endpoint rejects the delivery, but the contract requires a 401. The service treats any other status as a different fault.',
  mend: 'Return 401 if the signature is missing or does not match.',
};
const THROWS: Advice = {
  why: 'A sender without the secret can cause this exception. The endpoint rejects the forgery, but its status looks like an outage.',
  mend:
    'Before the comparison, return 401 if the header is missing or is not 64 lowercase hex digits: ' +
    'crypto.timingSafeEqual throws if the lengths differ.',
};

/**
 * Checks that the answer to a forgery is a 401. Returns `null` if it is.
 *
 * @param hidden - the correct signature of the body; `null` if the request contained this signature
 */
export function notRejected(sent: string, answer: Exchange, hidden: string | null, accepted: Advice): Finding | null {
  if (answer.status === null) return fault(sent, answer, CUT);
  if (isAccepted(answer)) return fault(sent, answer, accepted);
  const shown = `${answer.body} ${Object.values(answer.headers).join(' ')}`.toLowerCase();
  if (hidden !== null && shown.includes(hidden)) {
    return fault(sent, `${answer.status}, with the correct signature in it`, TELLS_THE_SIGNATURE);
  }
  if (answer.status === 401) return null;
  return answer.status >= 500 ? fault(sent, answer, THROWS) : warning(sent, answer, WRONG_STATUS);
}

/** Reports that the check cannot see whether the event was stored. */
export function noEvidence(sent: string): Finding {
  return unknown(sent, 'a 2xx, which does not show whether the event was stored', {
    why: 'From outside, hookbox cannot see whether the endpoint stores an event before it responds, or whether it stores each event only once.',
    mend:
      'Pass --effects with a URL that contains {id}. During the test only, serve {"rows": n, "count": n} at ' +
      'this URL. Here, rows is the number of rows that your inbox has for the event, and count is how often its ' +
      'handler has run.',
  });
}

/** Reports that the `--effects` URL returned no count. */
export function noEffects(sent: string, { why }: NoCount): Finding {
  return unknown(sent, `a 2xx, but the --effects URL failed: ${why}`, {
    why: 'hookbox cannot count the effects of the event.',
    mend: `Make the --effects URL return 200 with ${FORMS}. For an event without effects, n is 0.`,
  });
}

/** Reports that the `--effects` URL counted no effect in time. */
export function stillNothing(sent: string, waitedMs: number): Finding {
  return unknown(sent, `a 2xx, and no effect within ${waitedMs / 1_000} s`, {
    why: 'The event was lost, or the --effects URL does not report the effects of the event.',
    mend:
      'Search your inbox for the id of the event. If the --effects URL counts the rows of your inbox, it does ' +
      'not matter when the handler runs.',
  });
}
