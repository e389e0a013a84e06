import type { AnyInbox } from '../../inbox/contract.ts';
import { isReason, type Reason } from '../../receive/outcome.ts';
import { oneLine } from '../../printable.ts';

interface Cause {
  readonly cause: string;
  /** what to do about it; where the inbox itself is to blame, by what keeps it */
  readonly advice: string | { readonly file: string; readonly postgres: string };
}

const FORGED_OR_SECRET =
  'If only a few come from unknown addresses, they are forged: do nothing. If all deliveries fail, see “Signature does not match” in the documentation, or run hookbox verify --explain.';
const LATER = 'The service sends it again. If this continues:';
const LOOK = 'The log shows the cause, and so does Health while it lasts:';

/** Why deliveries were not taken in, in an operator’s words. Deliveries that were stored are not among them. */
const CAUSES: Readonly<Partial<Record<Reason, Cause>>> = {
  'signature-missing': {
    cause: 'The delivery has no signature.',
    advice:
      'The sender is not the service but a scanner, a health check or a browser. If it is your proxy, let it forward X-Signature.',
  },
  'signature-malformed': {
    cause: 'The signature is not 64 lowercase hexadecimal digits.',
    advice: 'The sender is not the service, or a proxy rewrites X-Signature.',
  },
  'signature-mismatch': {
    cause:
      'The signature does not match the body and your signing secret. The delivery is forged or changed, or the secrets differ.',
    advice: FORGED_OR_SECRET,
  },
  'not-an-event': {
    cause: 'The body is authentic, but not a JSON object with an id.',
    advice: 'A sender with your secret sends other data than events to this URL. Compare the URL in the dashboard.',
  },
  'body-incomplete': {
    cause: 'The connection ended before the whole body arrived.',
    advice: `${LATER} check for a proxy that cuts requests.`,
  },
  'body-too-large': {
    cause: 'The body is larger than maxBodyBytes.',
    advice:
      'Raise maxBodyBytes if your events can have the size in the list below. Otherwise it is an attack: do nothing.',
  },
  'body-in-crumbs': {
    cause: 'The body arrived in thousands of pieces of a few bytes each.',
    advice:
      'The sender is not the service: it tries to keep the server busy. If it is your proxy, let it forward larger pieces.',
  },
  'encoding-unsupported': {
    cause: 'The body is authentic but compressed (Content-Encoding). hookbox does not decompress bodies.',
    advice: 'The sender signs the compressed body. Let it send uncompressed bodies.',
  },
  'method-not-allowed': {
    cause: 'The request was not a POST.',
    advice:
      'The sender is not the service but a browser, a crawler or a health check. Point health checks to /health/live of this page.',
  },
  'body-not-base64': {
    cause: 'The body is flagged as base64 but is not base64.',
    advice: 'Code between the gateway and hookbox decodes the body but keeps the flag. Pass the event unchanged.',
  },
  'body-too-slow': {
    cause: 'The body did not arrive within the deadline.',
    advice: `${LATER} the network or a proxy is slow, or an attacker holds connections open.`,
  },
  'body-no-room': {
    cause: 'Other bodies used all of maxReadingBytes.',
    advice: `${LATER} many senders are slow at once, or it is an attack. If the events are yours, raise maxReadingBytes.`,
  },
  'body-consumed': {
    cause: 'Other code read the body before hookbox.',
    advice: 'Mount the webhook route before any body parser, such as express.json().',
  },
  'no-secret': {
    cause: 'The signing secret was not available.',
    advice: `${LATER} check your secret provider; its error is in the log.`,
  },
  overloaded: {
    cause: 'Too many deliveries were waiting to be stored.',
    advice: {
      file: `${LATER} check the answer latency on the Overview and the disk.`,
      postgres: `${LATER} check the answer latency on the Overview and the load of Postgres.`,
    },
  },
  closing: {
    cause: 'The receiver was shutting down.',
    advice: 'After a deploy, do nothing: the service sends it again.',
  },
  deadline: {
    cause: 'The inbox did not store the event in time.',
    advice: {
      file: `${LATER} check the disk, and other processes that lock the file.`,
      postgres: `${LATER} check how fast Postgres answers, and what else locks the tables of the inbox.`,
    },
  },
  internal: {
    cause: 'An unexpected error occurred.',
    advice: 'The error is in the log of the process that answered. The service sends the event again.',
  },
  'not-passed-on-in-time': {
    cause: 'The delivery could not be forwarded in time.',
    advice: `${LATER} check the target of verified deliveries.`,
  },
  'inbox-failing': {
    cause: 'The inbox could not be written.',
    advice: {
      file: `${LOOK} the disk is full or read-only, or the file was moved or replaced.`,
      postgres: `${LOOK} Postgres was unavailable, full or read-only, or rejected the role.`,
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
    const advice = 'Another version of hookbox recorded this cause; this version does not know it.';
    return { cause: oneLine(reason, 80), advice };
  }
  const { cause, advice } = known;
  if (typeof advice === 'string') return { cause, advice };
  return { cause, advice: file === undefined ? advice.postgres : advice.file };
}
