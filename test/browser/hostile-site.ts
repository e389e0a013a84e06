import { createProcessor, createReceiver, type Handlers } from '../../src/index.ts';
import { previewBulk } from '../../src/ops/index.ts';
import { SECRET, signed } from '../helpers/signed-event.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { hostileData, hostileTexts } from './hostile-texts.ts';
import { opsSite, type OpsSite } from './ops-site.ts';

const TEXTS = Object.values<string>(hostileTexts);
const CREATED = '2026-03-14T08:02:11.480Z';

export async function hostileSite(): Promise<OpsSite> {
  await using opened = new AsyncDisposableStack();
  const handlers: Handlers = {
    '*'({ data }) {
      const text = TEXTS[Number(Reflect.get(data, 'n'))] ?? 'W'.repeat(10_000);
      throw Object.assign(new Error(text), {
        name: text,
        stack: `${text}\n    at ${text} (${text}:1:1)\n`.repeat(10),
      });
    },
  };
  const site = opened.use(await opsSite({ handlers }));
  const { inbox } = site;
  const { logger } = recordedLog();
  // Each hostile text is the name of an endpoint too, and the receiver handles none but its own.
  const processor = opened.use(
    createProcessor({ inbox, handlers, endpoint: '*', logger, processing: { retry: { attempts: 1 } } }),
  );
  await processor.start();
  await Promise.all(TEXTS.map((text, n) => deliverAll(site, text, n)));
  for (const [n, data] of hostileData().entries()) {
    await deliver(site.receiver, `{"id":"evt_data_${n}","type":"shop.data","created":"${CREATED}","data":${data}}`);
  }
  await site.handled();
  await operate(inbox);
  const kept = opened.move();
  return { ...site, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function deliverAll({ inbox, receiver }: OpsSite, text: string, n: number): Promise<void> {
  const { logger } = recordedLog();
  await using another = createReceiver({ secret: SECRET, inbox, endpoint: text, logger });
  const event = { id: text, type: text, created: CREATED, data: { n, [text]: text, list: [text, { [text]: [text] }] } };
  await deliver(another, JSON.stringify(event));
  await deliver(another, JSON.stringify({ ...event, other: text }));
  const data = { n, object: 'order', id: text, merchant_id: text };
  await deliver(receiver, JSON.stringify({ id: `evt_order_${n}`, type: 'order.created', created: CREATED, data }));
  await deliver(receiver, JSON.stringify({ id: `evt_invalid_${n}`, type: text, created: text, data: text }));
}

async function deliver(receiver: OpsSite['receiver'], text: string): Promise<void> {
  const { body, headers } = signed(text);
  const outcome = await receiver.receive({ body, signature: headers[0]?.[1] });
  if (outcome.status !== 200) throw new Error(`not stored: ${JSON.stringify(outcome)}`);
}

async function operate(inbox: OpsSite['inbox']): Promise<void> {
  const { operations } = inbox;
  if (operations === undefined) throw new Error('this inbox cannot be looked into');
  for (const text of TEXTS) {
    const by = { actor: text, reason: text, via: 'page' } as const;
    const filter = { error: text, entity: text, types: [text], endpoint: text, merchant: text };
    await operations.note('rerun', by, { ids: [text], endpoint: text, [text]: { [text]: [text] } }, { [text]: 1 });
    await operations.noteRejected([
      { endpoint: text, reason: text, source: text, bytes: 1, sha256: null, count: 1, at: Date.now() },
    ]);
    await operations.noteRelease({ name: text, endpoint: text, at: Date.now(), what: 'began' });
    await operations.noteSecret({ endpoint: text, after: Date.now(), at: Date.now() });
    await operations.count([{ at: Date.now(), what: 'failed', detail: text, count: 9 }]);
    await previewBulk(inbox, 'rerun', filter, by);
    // A longer one is no type that could be paused.
    if (text.length <= 150) await operations.pauseType({ endpoint: text, type: text }, by);
  }
}

export function hostileScreens(): Readonly<Record<string, string>> {
  const texts = Object.entries<string>(hostileTexts);
  const data = Array.from(hostileData().keys());
  const event = (endpoint: string, id: string): string => `/events/${pathPart(endpoint)}/${pathPart(id)}`;
  return {
    overview: '',
    'all events': '/events',
    ...Object.fromEntries([200, 150, 100, 50].map((seq) => [`events before the ${seq}th`, `/events?before=${seq}`])),
    'failed events': '/events?state=dead&deadReason=failed',
    'dead events': '/dead',
    rejected: '/rejected',
    'bulk actions': '/bulks',
    'older bulk actions': '/bulks?before=3',
    audit: '/audit',
    paused: '/paused',
    'older audit': '/audit?before=3',
    health: '/health',
    ...Object.fromEntries(texts.map(([name, text]) => [`the event: ${name}`, event(text, text)])),
    ...Object.fromEntries(chunks(TEXTS).map((_, n) => [`the bulk action ${n}`, `/bulks/${n * FIELDS.length + 1}`])),
    ...Object.fromEntries(data.map((n) => [`the body ${n}`, event('default', `evt_data_${n}`)])),
    ...Object.fromEntries(data.map((n) => [`the raw body ${n}`, `${event('default', `evt_data_${n}`)}?view=raw`])),
    'a filter that cannot be read': `/events?${queryOf(TEXTS.slice(0, 9))}&since=${encodeURIComponent(hostileTexts.script)}`,
    ...Object.fromEntries(chunks(TEXTS).map((texts, n) => [`the URL ${n}`, `/events?${queryOf(texts)}`])),
  };
}

const FIELDS = ['entity', 'id', 'error', 'type', 'merchant', 'endpoint', 'fingerprint', 'done', 'body'];

function queryOf(texts: readonly string[]): string {
  const query = texts.map((text, n): [string, string] => [
    FIELDS[n] ?? text,
    FIELDS[n] === 'body' ? `data.text=${text}` : text,
  ]);
  return new URLSearchParams(query).toString();
}

function chunks(texts: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(texts.length / FIELDS.length);
  return Array.from({ length: count }, (_, n) => texts.slice(n * FIELDS.length, (n + 1) * FIELDS.length));
}

function pathPart(text: string): string {
  const part = encodeURIComponent(text);
  return /^(?:\.{0,2}$|~)/.test(part) ? `~${part}` : part;
}
