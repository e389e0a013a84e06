import type { AnyInbox } from '../../inbox/contract.ts';
import { isReason, type Reason } from '../../receive/outcome.ts';
import { oneLine } from '../../printable.ts';

type Cause = readonly [cause: string, advice: string | { readonly file: string; readonly postgres: string }];

const FORGED_OR_SECRET =
  'If only a few deliveries fail, and they come from unknown addresses, they are probably forged: ignore them. If all ' +
  'deliveries fail, see “Signature does not match” in the docs, or run hookbox verify --explain.';
const LATER = 'The service sends the event again. If such rejections continue,';
const LOOK = 'The log and the Health screen name the cause, for example that';

const CAUSES: Readonly<Partial<Record<Reason, Cause>>> = {
  'signature-missing': [
    'The X-Signature header is missing.',
    'A scanner, health check or browser probably sent the request. If all deliveries fail, make your proxy forward ' +
      'X-Signature.',
  ],
  'signature-malformed': [
    'The signature is not 64 lowercase hexadecimal digits.',
    'Either the request did not come from the service, or a proxy changed X-Signature.',
  ],
  'signature-mismatch': [
    'The signature does not match the body: the request is forged, a proxy changed the body, or your secret is wrong.',
    FORGED_OR_SECRET,
  ],
  'not-an-event': [
    'The signature is valid, but the body is not a JSON object with an id.',
    'This URL receives requests that are signed with your secret but are not events. Check the URL in the dashboard.',
  ],
  'body-incomplete': [
    'The connection closed before the whole body arrived.',
    `${LATER} look for a proxy that cuts off requests.`,
  ],
  'body-too-large': [
    'The body is larger than maxBodyBytes.',
    'If your events can be as large as the sizes below, raise maxBodyBytes. Otherwise ignore these deliveries: they are ' +
      'probably an attack.',
  ],
  'body-in-tiny-chunks': [
    'The body arrived in thousands of chunks of a few bytes each.',
    'The service does not send such chunks. If your proxy sends them, make it forward larger chunks. If not, an attacker is probably trying to keep the server busy.',
  ],
  'encoding-unsupported': [
    'The signature is valid, but the body is compressed (Content-Encoding), and hookbox does not decompress bodies.',
    'Configure the sender to send uncompressed bodies.',
  ],
  'method-not-allowed': [
    'The request method was not POST.',
    'A browser, crawler or health check sent the request. Point health checks at /health/live below the path of this page.',
  ],
  'body-not-base64': [
    'The body was flagged as base64, but is not base64.',
    'Your code decodes the body but does not clear the flag isBase64Encoded. Pass the gateway’s event to hookbox unchanged.',
  ],
  'body-too-slow': [
    'The body did not arrive within the deadline.',
    `${LATER} look for a slow network or proxy, or for an attacker who holds connections open.`,
  ],
  'body-no-room': [
    'The total size of the bodies that were being read had reached maxReadingBytes.',
    `${LATER} many senders are slow, or an attacker floods the server. If the deliveries are genuine, raise maxReadingBytes.`,
  ],
  'body-consumed': [
    'Other code had already read the body.',
    'Mount the webhook route before body parsers such as express.json().',
  ],
  'no-secret': [
    'The signing secret was not available.',
    `${LATER} check your secret provider; its error is in the log.`,
  ],
  overloaded: [
    'Too many deliveries were waiting to be stored.',
    {
      file: `${LATER} check the disk, and the response latency on the Overview screen.`,
      postgres: `${LATER} check the load on Postgres, and the response latency on the Overview screen.`,
    },
  ],
  closing: ['The receiver was shutting down.', 'This is expected during a deploy. The service sends the event again.'],
  deadline: [
    'The event could not be stored in time.',
    {
      file: `${LATER} check the disk, and look for other programs that lock the file.`,
      postgres: `${LATER} check how fast Postgres answers, and look for other sessions that lock the inbox tables.`,
    },
  ],
  internal: [
    'Unexpected error.',
    'See the log of the process that received the delivery. The service sends the event again.',
  ],
  'not-passed-on-in-time': [
    'The event could not be forwarded in time.',
    `${LATER} check the target that verified deliveries are forwarded to.`,
  ],
  'inbox-failing': [
    'The inbox could not be written to.',
    {
      file: `${LOOK} the disk is full or read-only, or that the file was moved or replaced.`,
      postgres: `${LOOK} Postgres was unreachable, full or read-only, or that it rejected the role.`,
    },
  ],
};

export function causeOfRejection(
  reason: string,
  { file }: Pick<AnyInbox, 'file'>,
): { readonly cause: string; readonly advice: string } {
  const known = isReason(reason) ? CAUSES[reason] : undefined;
  if (known === undefined) {
    const advice = 'A different version of hookbox recorded this reason; this version has no description of it.';
    return { cause: oneLine(reason, 80), advice };
  }
  const [cause, advice] = known;
  if (typeof advice === 'string') return { cause, advice };
  return { cause, advice: file === undefined ? advice.postgres : advice.file };
}
