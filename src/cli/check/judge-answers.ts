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
  why: 'It was told to come later, also after a wait, which says nothing of what was sent.',
  mend: 'Lift the rate limit of the route for the check, or run a few probes at a time with --only.',
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
  why: 'An authentic event is held for a forged one, and lost after the last retry.',
  mend:
    'Use the same secret here and there, without quotes or a newline around it. Compute the HMAC over the raw bytes: in ' +
    "Express, give the route express.raw({ type: '*/*' }) and mount it before express.json().",
};
const TOO_LATE: Advice = {
  why: 'The service waits 10 s for a 2xx, then counts the delivery as failed and sends it again.',
  mend: 'Answer as soon as the event is stored, and do the work afterwards, from what was stored.',
};
const CUT: Advice = {
  why: 'Without a status the service counts the delivery as failed and sends it again.',
  mend: 'Look into the log of the endpoint for an exception that was not caught, and into that of the proxy before it.',
};

/** What is wrong with the answer to an authentic delivery, which has to be a 2xx; `null` for nothing. */
export function notTaken(sent: string, answer: Exchange, advice?: Advice): Finding | null {
  if (isTaken(answer)) return null;
  if (answer.status === null) return fault(sent, answer, answer.failure === 'too-late' ? TOO_LATE : CUT);
  return fault(sent, answer, advice ?? adviceFor(answer.status));
}

const LATE: Advice = {
  why: 'A delivery succeeds when a 2xx arrives within 10 s. This one counts as failed and is sent again, though you have it.',
  mend: `${TOO_LATE.mend} Mails, calls of other services and reports are no part of the request.`,
};
const NEARLY_LATE: Advice = {
  why: 'More than half of the time the service waits. Under load, or over a slow network, deliveries will fail.',
  mend: LATE.mend,
};

/** A 2xx, and when it came. */
export interface Timing {
  readonly ms: number;
  readonly deadlineMs: number;
}

/** What is wrong with the time that a 2xx took; `null` for nothing. */
export function late(sent: string, { ms, deadlineMs }: Timing): Finding | null {
  const received = `a 2xx after ${duration(ms)}; ${duration(deadlineMs)} are allowed`;
  if (ms > deadlineMs) return fault(sent, received, LATE);
  return ms > deadlineMs / 2 ? warning(sent, received, NEARLY_LATE) : null;
}

function adviceFor(status: number): Advice {
  if (status === 401 || status === 403) return REFUSES_AUTHENTIC;
  if (status < 400) {
    return {
      why: 'A redirect is no 2xx: the service counts the delivery as failed.',
      mend: 'Give the service the final address: the right scheme, host and path, with or without the slash at its end.',
    };
  }
  if (status === 404 || status === 405) {
    return {
      why: 'Nothing takes deliveries at this address, so all of them are lost after the last retry.',
      mend: 'Check the path, and that the route is there for POST.',
    };
  }
  return {
    why: 'Whatever is not 2xx is sent again for about a day and then given up, and the event is lost.',
    mend:
      status < 500
        ? 'Store the event and answer 2xx whatever is in it; decide afterwards what to do with it.'
        : 'Look into the log of the endpoint for the exception. Store the event first; let the work fail later and apart.',
  };
}

const TELLS_THE_SIGNATURE: Advice = {
  why: 'The answer contains the right signature of what was sent, so anybody can ask for it and forge events.',
  mend: 'Say only that the signature is wrong. Log neither the expected one nor the secret.',
};
const WRONG_STATUS: Advice = {
  why: 'It is refused, but the contract says 401, and any other status is taken for a fault of another kind.',
  mend: 'Answer 401 when the signature is missing or does not match.',
};
const THROWS: Advice = {
  why: 'Anybody can cause the exception without knowing the secret. It is refused, but as an outage and not as a forgery.',
  mend:
    'Answer 401 when the header is missing or is not 64 lowercase hex digits, before comparing: crypto.timingSafeEqual ' +
    'throws where the lengths differ.',
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
    return fault(sent, `${answer.status}, with the right signature in it`, TELLS_THE_SIGNATURE);
  }
  if (answer.status === 401) return null;
  return answer.status >= 500 ? fault(sent, answer, THROWS) : warning(sent, answer, WRONG_STATUS);
}
