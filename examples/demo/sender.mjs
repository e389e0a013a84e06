// The service's side of the demo: delivers to DEMO_URL, and reports each answer beside what hookbox promises.
import { readFileSync } from 'node:fs';
import { eventTypes, signBody } from 'hookbox';

const url = process.env.DEMO_URL;
const secret = process.env.SIGNING_SECRET;
const fixture = (name) => readFileSync(new URL(`../../fixtures/${name}.json`, import.meta.url));

async function send(round, delivery, body, expected, signature = signBody(body, secret)) {
  const headers = { 'Content-Type': 'application/json', ...(signature !== null && { 'X-Signature': signature }) };
  const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual' });
  const { duplicate, error } = await response.json();
  const outcome = error?.code ?? (duplicate ? 'duplicate' : 'stored');
  return { round, delivery, status: response.status, outcome, expected };
}

const results = [];
for (const type of eventTypes) results.push(await send('first', type, fixture(type), '200 stored'));
results.push(...(await Promise.all(eventTypes.map((type) => send('again', type, fixture(type), '200 duplicate')))));

// One byte of the amount changes on the way; the signature is that of the original.
const original = fixture('order.created');
const changed = Buffer.from(original.toString().replace(/"total":\s*\d/, '"total":9'));
const forged = '401 INVALID_SIGNATURE';
results.push(await send('forged', 'order.created, total changed', changed, forged, signBody(original, secret)));
results.push(await send('forged', 'no signature', fixture('order.ready'), forged, null));
results.push(await send('odd', 'unknown type', fixture('edge/unknown-type'), '200 stored'));
results.push(await send('odd', 'one byte over 1 MiB', Buffer.alloc(1024 * 1024 + 1, ' '), '413 BODY_TOO_LARGE'));

process.send(results);
process.disconnect();
