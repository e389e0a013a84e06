import type { AnyInbox } from '../../inbox/contract.ts';
import { isReason, type Reason } from '../../receive/outcome.ts';
import { oneLine } from '../../printable.ts';

interface Cause {
  readonly cause: string;
  /** what to do about it; where the inbox itself is to blame, by what keeps it */
  readonly advice: string | { readonly file: string; readonly postgres: string };
}

const FORGED_OR_SECRET =
  'A few from addresses you do not know are forged: nothing to do. All of them: see “Signature does not match” in the documentation, or run hookbox verify --explain.';
const LATER = 'The service sends it again. If it goes on:';
const LOOK = 'The log says why, and so does Health while it lasts:';

/** Why deliveries were not taken in, in an operator’s words. Deliveries that were stored are not among them. */
const CAUSES: Readonly<Partial<Record<Reason, Cause>>> = {
  'signature-missing': {
    cause: 'It came without a signature.',
    advice: 'Not the service: a scanner, a health check or a browser. If it is your proxy, let it pass X-Signature on.',
  },
  'signature-malformed': {
    cause: 'Its signature is not 64 lowercase hexadecimal digits.',
    advice: 'Not the service, or something on the way rewrites X-Signature.',
  },
  'signature-mismatch': {
    cause:
      'Its signature is not that of its body under your signing secret: forged, changed on the way, or another secret.',
    advice: FORGED_OR_SECRET,
  },
  'not-an-event': {
    cause: 'It is authentic, but not a JSON object with an id.',
    advice:
      'A sender that has your secret sends something other than events to this URL. Compare the URL in the dashboard.',
  },
  'body-incomplete': {
    cause: 'The connection ended before the whole body had come.',
    advice: `${LATER} look for a proxy that cuts requests.`,
  },
  'body-too-large': {
    cause: 'The body is larger than maxBodyBytes.',
    advice:
      'Raise maxBodyBytes if your events can have the size in the list below. If not, it is an attack: nothing to do.',
  },
  'body-in-crumbs': {
    cause: 'The body came in thousands of pieces of a few bytes each.',
    advice: 'Not the service: an attempt to keep the server busy. If it is your proxy, let it pass larger pieces on.',
  },
  'encoding-unsupported': {
    cause: 'It is authentic, but came compressed (Content-Encoding), and hookbox decompresses nothing.',
    advice: 'The sender signs what it has compressed. Have it send plain bodies.',
  },
  'method-not-allowed': {
    cause: 'It was not a POST.',
    advice:
      'Not the service: a browser, a crawler or a health check. Point health checks to /health/live of this page.',
  },
  'body-not-base64': {
    cause: 'It was flagged as base64, but is not base64.',
    advice:
      'Something between the gateway and hookbox decodes the body and keeps the flag: hand the event over unchanged.',
  },
  'body-too-slow': {
    cause: 'The body did not arrive within the deadline.',
    advice: `${LATER} the network or a proxy is slow, or an attacker holds connections open.`,
  },
  'body-no-room': {
    cause: 'Other bodies that were being read took up all of maxReadingBytes.',
    advice: `${LATER} many senders are slow at the same time, or it is an attack. If the events are yours, raise maxReadingBytes.`,
  },
  'body-consumed': {
    cause: 'The body had been read before hookbox saw it.',
    advice: 'Mount the webhook’s route before anything that parses bodies, such as express.json().',
  },
  'no-secret': {
    cause: 'The signing secret was not available.',
    advice: `${LATER} look at your secret provider; its error is in the log.`,
  },
  overloaded: {
    cause: 'Too many deliveries were waiting to be stored.',
    advice: {
      file: `${LATER} look at the answer latency on the Overview and at the disk.`,
      postgres: `${LATER} look at the answer latency on the Overview and at what Postgres is busy with.`,
    },
  },
  closing: {
    cause: 'The receiver was shutting down.',
    advice: 'Nothing to do after a deploy: the service sends it again.',
  },
  deadline: {
    cause: 'It could not be stored in time.',
    advice: {
      file: `${LATER} look at the disk, and at what else holds a lock on the file.`,
      postgres: `${LATER} see whether Postgres answers and how fast, and what else locks the tables of the inbox.`,
    },
  },
  internal: {
    cause: 'Something failed unexpectedly.',
    advice: 'The error is in the log of the process that answered. The service sends the event again.',
  },
  'not-passed-on-in-time': {
    cause: 'It could not be passed on in time.',
    advice: `${LATER} look at where verified deliveries are passed on to.`,
  },
  'inbox-failing': {
    cause: 'The inbox could not be written to.',
    advice: {
      file: `${LOOK} the disk is full or read-only, or the file was moved or replaced.`,
      postgres: `${LOOK} Postgres was away, full or read-only, or refused the role.`,
    },
  },
};

/** In words, also for the reasons of another version of hookbox, and of the inbox that was to store it. */
export function causeOfRejection(
  reason: string,
  { file }: Pick<AnyInbox, 'file'>,
): { readonly cause: string; readonly advice: string } {
  const known = isReason(reason) ? CAUSES[reason] : undefined;
  if (known === undefined) {
    const advice = 'This version of hookbox does not know it: another version has recorded it.';
    return { cause: oneLine(reason, 80), advice };
  }
  const { cause, advice } = known;
  if (typeof advice === 'string') return { cause, advice };
  return { cause, advice: file === undefined ? advice.postgres : advice.file };
}
