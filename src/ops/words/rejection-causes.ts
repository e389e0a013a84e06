import type { AnyInbox } from '../../inbox/contract.ts';
import { isReason, type Reason } from '../../receive/outcome.ts';
import { oneLine } from '../../printable.ts';

interface Cause {
  readonly cause: string;
  /** what to do about it; where the inbox itself is to blame, by what keeps it */
  readonly advice: string | { readonly file: string; readonly postgres: string };
}

const FORGED_OR_SECRET =
  'If only a few deliveries fail, and they come from unknown addresses, they are probably forged: ignore them. If all ' +
  'deliveries fail, see “Signature does not match” in the docs, or run hookbox verify --explain.';
const LATER = 'The service sends the event again. If such rejections continue,';
const LOOK = 'The log and the Health screen name the cause, for example that';

/** Why deliveries were rejected, in an operator’s words. */
const CAUSES: Readonly<Partial<Record<Reason, Cause>>> = {
  'signature-missing': {
    cause: 'The X-Signature header is missing.',
    advice:
      'A scanner, health check or browser probably sent the request. If all deliveries fail, make your proxy forward ' +
      'X-Signature.',
  },
  'signature-malformed': {
    cause: 'The signature is not 64 lowercase hexadecimal digits.',
    advice: 'Either the request did not come from the service, or a proxy changed X-Signature.',
  },
  'signature-mismatch': {
    cause:
      'The signature does not match the body: the request is forged, a proxy changed the body, or your secret is wrong.',
    advice: FORGED_OR_SECRET,
  },
  'not-an-event': {
    cause: 'The signature is valid, but the body is not a JSON object with an id.',
    advice:
      'This URL receives requests that are signed with your secret but are not events. Check the URL in the dashboard.',
  },
  'body-incomplete': {
    cause: 'The connection closed before the whole body arrived.',
    advice: `${LATER} look for a proxy that cuts off requests.`,
  },
  'body-too-large': {
    cause: 'The body is larger than maxBodyBytes.',
    advice:
      'If your events can be as large as the sizes below, raise maxBodyBytes. Otherwise ignore these deliveries: they are ' +
      'probably an attack.',
  },
  'body-in-tiny-chunks': {
    cause: 'The body arrived in thousands of chunks of a few bytes each.',
    advice:
      'The service does not send such chunks. If your proxy sends them, make it forward larger chunks. If not, an attacker is probably trying to keep the server busy.',
  },
  'encoding-unsupported': {
    cause:
      'The signature is valid, but the body is compressed (Content-Encoding), and hookbox does not decompress bodies.',
    advice: 'Configure the sender to send uncompressed bodies.',
  },
  'method-not-allowed': {
    cause: 'The request method was not POST.',
    advice:
      'A browser, crawler or health check sent the request. Point health checks at /health/live below the path of this page.',
  },
  'body-not-base64': {
    cause: 'The body was flagged as base64, but is not base64.',
    advice:
      'Your code decodes the body but does not clear the flag isBase64Encoded. Pass the gateway’s event to hookbox unchanged.',
  },
  'body-too-slow': {
    cause: 'The body did not arrive within the deadline.',
    advice: `${LATER} look for a slow network or proxy, or for an attacker who holds connections open.`,
  },
  'body-no-room': {
    cause: 'The total size of the bodies that were being read had reached maxReadingBytes.',
    advice: `${LATER} many senders are slow, or somebody attacks the server. If the deliveries are genuine, raise maxReadingBytes.`,
  },
  'body-consumed': {
    cause: 'Other code had already read the body.',
    advice: 'Mount the webhook route before body parsers such as express.json().',
  },
  'no-secret': {
    cause: 'The signing secret was not available.',
    advice: `${LATER} check your secret provider; its error is in the log.`,
  },
  overloaded: {
    cause: 'Too many deliveries were waiting to be stored.',
    advice: {
      file: `${LATER} check the disk, and the response latency on the Overview screen.`,
      postgres: `${LATER} check the load on Postgres, and the response latency on the Overview screen.`,
    },
  },
  closing: {
    cause: 'The receiver was shutting down.',
    advice: 'This is expected during a deploy. The service sends the event again.',
  },
  deadline: {
    cause: 'The event could not be stored in time.',
    advice: {
      file: `${LATER} check the disk, and look for other programs that lock the file.`,
      postgres: `${LATER} check how fast Postgres answers, and look for other sessions that lock the inbox tables.`,
    },
  },
  internal: {
    cause: 'Unexpected error.',
    advice: 'See the log of the process that received the delivery. The service sends the event again.',
  },
  'not-passed-on-in-time': {
    cause: 'The event could not be forwarded in time.',
    advice: `${LATER} check the target that verified deliveries are forwarded to.`,
  },
  'inbox-failing': {
    cause: 'The inbox could not be written to.',
    advice: {
      file: `${LOOK} the disk is full or read-only, or that the file was moved or replaced.`,
      postgres: `${LOOK} Postgres was unreachable, full or read-only, or that it rejected the role.`,
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
    const advice = 'A different version of hookbox recorded this reason; this version has no description of it.';
    return { cause: oneLine(reason, 80), advice };
  }
  const { cause, advice } = known;
  if (typeof advice === 'string') return { cause, advice };
  return { cause, advice: file === undefined ? advice.postgres : advice.file };
}
