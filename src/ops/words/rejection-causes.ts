import { isReason, type Reason } from '../../receive/outcome.ts';
import { oneLine } from '../../printable.ts';

interface Cause {
  readonly cause: string;
  /** what to do about it */
  readonly advice: string;
}

const FORGED_OR_SECRET =
  'A few from addresses you do not know are forged: nothing to do. All of them: see “Signature does not match” in the documentation, or run hookbox verify --explain.';
const LATER = 'The service sends it again. If it goes on:';

/** Why deliveries were not taken in, in an operator’s words. Deliveries that were stored are not among them. */
const CAUSES: Readonly<Partial<Record<Reason, Cause>>> = {
  'signature-missing': {
    cause: 'It came without a signature.',
    advice:
      'Not the service: a scanner, a health check or a browser. If it is a proxy of yours, let it pass X-Signature on.',
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
    advice: 'Whoever has your secret sends something else than events to this URL. Compare the URL in the dashboard.',
  },
  'body-incomplete': {
    cause: 'The connection ended before the whole body had come.',
    advice: `${LATER} look for a proxy that cuts requests.`,
  },
  'body-too-large': {
    cause: 'The body is larger than maxBodyBytes.',
    advice:
      'Raise maxBodyBytes if the size, in the list below, is one that your events have; else somebody is trying it on.',
  },
  'body-in-crumbs': {
    cause: 'The body came in thousands of pieces of a few bytes each.',
    advice:
      'Not the service: somebody is trying to keep the server busy. If it is a proxy of yours, let it pass larger pieces on.',
  },
  'encoding-unsupported': {
    cause: 'The body came compressed (Content-Encoding).',
    advice: 'The service sends plain bodies: a proxy on the way compresses them. Switch that off for this path.',
  },
  'method-not-allowed': {
    cause: 'It was no POST.',
    advice:
      'Not the service: a browser, a crawler or a health check. Point health checks to /health/live of this page.',
  },
  'body-not-base64': {
    cause: 'It was flagged as base64 and was none.',
    advice:
      'Something between the gateway and hookbox decodes the body and leaves the flag: hand the event over as it came.',
  },
  'body-too-slow': {
    cause: 'The body did not arrive within the deadline.',
    advice: `${LATER} the network or a proxy is slow, or somebody holds connections open on purpose.`,
  },
  'body-no-room': {
    cause: 'As much of other bodies was being read as maxReadingBytes allows.',
    advice: `${LATER} many senders are slow at a time, or somebody is at it on purpose. Where the events are yours, raise maxReadingBytes.`,
  },
  'body-consumed': {
    cause: 'The body had been read before hookbox saw it.',
    advice: 'Mount the webhook’s route before anything that parses bodies, such as express.json().',
  },
  'no-secret': {
    cause: 'The signing secret could not be had.',
    advice: `${LATER} look at your secret provider; its error is in the log.`,
  },
  overloaded: {
    cause: 'Too many deliveries were waiting to be stored.',
    advice: `${LATER} look at the answer latency on the Overview and at the disk.`,
  },
  closing: {
    cause: 'The receiver was shutting down.',
    advice: 'Nothing to do after a deploy: the service sends it again.',
  },
  deadline: {
    cause: 'It could not be stored in time.',
    advice: `${LATER} look at the disk, and at what else holds a lock on the file.`,
  },
  internal: {
    cause: 'Something failed that nobody had thought of.',
    advice: 'The error is in the log of the process that answered. The service sends the event again.',
  },
  'not-passed-on-in-time': {
    cause: 'It could not be passed on in time.',
    advice: `${LATER} look at where verified deliveries are passed on to.`,
  },
  'inbox-failing': {
    cause: 'The inbox could not be written to.',
    advice: 'See Health: the disk is full or read-only, or the file was moved or replaced.',
  },
};

/** In words, also for the reasons of another version of hookbox. */
export function causeOfRejection(reason: string): Cause {
  const known = isReason(reason) ? CAUSES[reason] : undefined;
  return (
    known ?? { cause: oneLine(reason, 80), advice: 'This hookbox has no words for it: another version has noted it.' }
  );
}
