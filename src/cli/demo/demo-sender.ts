import '../shared/require-node.ts';
import { eventTypes } from '../../events/event-types.ts';
import { deliver, type DeliveryOptions } from '../../sender/deliver.ts';
import { signBody } from '../../signing/signature.ts';
import { fixture } from '../../testing/fixtures.ts';

/** What the demo's sender reports about one delivery; the receiver's promise is in `expected`. */
export interface DemoDelivery {
  readonly round: string;
  readonly delivery: string;
  readonly status: number;
  readonly outcome: string;
  readonly expected: string;
}

const url = process.env['DEMO_URL'] ?? '';
const secret = process.env['SIGNING_SECRET'] ?? '';

const STORED = '200 stored';
const DUPLICATE = '200 duplicate';

async function send(
  round: string,
  delivery: string,
  body: Buffer,
  expected: string,
  forged: Pick<DeliveryOptions, 'signature'> = {},
): Promise<DemoDelivery> {
  const answer = await deliver(url, body, { secret, ...forged });
  return { round, delivery, status: answer.status, outcome: outcomeOf(answer.body), expected };
}

function outcomeOf(body: string): string {
  const answer: unknown = JSON.parse(body);
  if (typeof answer !== 'object' || answer === null) return 'not an answer from hookbox';
  if ('duplicate' in answer) return answer.duplicate === true ? 'duplicate' : 'stored';
  const { error } = answer as { error: { code: string } };
  return error.code;
}

/** One byte of the amount is changed on the way; the signature is that of the original. */
async function tampered(): Promise<DemoDelivery> {
  const original = fixture('order.created');
  const signature = signBody(original, secret);
  const body = Buffer.from(original.toString().replace(/"total":\s*\d/, '"total":9'));
  return send('forged', 'order.created, total changed', body, '401 INVALID_SIGNATURE', { signature });
}

async function run(): Promise<readonly DemoDelivery[]> {
  const results: DemoDelivery[] = [];
  for (const type of eventTypes) results.push(await send('first', type, fixture(type), STORED));
  results.push(...(await Promise.all(eventTypes.map((type) => send('again', type, fixture(type), DUPLICATE)))));
  results.push(await tampered());
  results.push(
    await send('forged', 'no signature', fixture('order.ready'), '401 INVALID_SIGNATURE', { signature: null }),
  );
  results.push(await send('odd', 'unknown type', fixture('edge/unknown-type'), STORED));
  results.push(await send('odd', 'one byte over 1 MiB', Buffer.alloc(1024 * 1024 + 1, ' '), '413 BODY_TOO_LARGE'));
  return results;
}

process.send?.(await run());
process.disconnect();
