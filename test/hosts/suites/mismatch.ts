import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { expectConsole } from '../console.ts';
import { createReceiver, signBody, type Delivery, type Outcome, type Reason } from '../../../src/index.ts';
import { memoryInbox } from '../../../src/inbox/memory.ts';
import { expectForgeryRefused, SECRET, send, signedOrder } from '../deliveries.ts';
import { changed, example } from '../page.ts';
import type { Project } from '../project.ts';
import { run, startServer, type Finished } from '../server.ts';

const SIGN = 'the signature of body.json';
const SEND = 'sign body.json and send it';

export function mismatch(project: () => Project): void {
  const bash = (script: string, env: Readonly<Record<string, string>> = {}): Promise<Finished> =>
    run(['bash', '-c', script], join(project().folder, 'mismatch'), env);

  it('the captured bytes, signed with openssl, have the signature of the delivery', async () => {
    project().write('mismatch/capture.mjs', example('mismatch/capture.mjs'));
    const cwd = join(project().folder, 'mismatch');
    await using server = await startServer(project(), [process.execPath, 'capture.mjs'], { cwd });
    const order = signedOrder();
    expect(await send(server.url, order)).toMatchObject({ status: 200 });
    expect(readFileSync(join(cwd, 'body.json'))).toEqual(order.body);
    await expectConsole(server).toContain(`X-Signature: "${order.headers['X-Signature']}"`);
    expect(await bash(example(SIGN))).toEqual({ code: 0, output: `${order.headers['X-Signature']}\n` });
    await expectForgeryRefused(server.url);
  });

  describe('a test with curl', () => {
    // In lines, as an editor leaves it.
    const body = `${JSON.stringify(JSON.parse(signedOrder().body.toString()), null, 2)}\n`;

    it.each([
      { with: '--data-binary, as on the page', code: example(SEND), status: 200 },
      { with: '-d, which strips newlines', code: changed(example(SEND), ['--data-binary', '-d']), status: 401 },
      { with: 'another secret', code: example(SEND).replace('openssl', 'SIGNING_SECRET=other; openssl'), status: 401 },
    ])('$with', async ({ code, status }) => {
      project().write('mismatch/server.mjs', example('express/server.mjs'));
      project().write('mismatch/body.json', body);
      await using server = await startServer(project(), [process.execPath, 'mismatch/server.mjs']);
      const quiet = code.replace('curl -s', `curl -s -o /dev/null -w '%{http_code}'`);
      expect(await bash(quiet, { PORT: String(server.port) })).toEqual({ code: 0, output: String(status) });
    });

    it.each([
      { of: 'printf', command: `printf %s '{"id":"evt_1"}' > body.json`, matches: true },
      { of: 'echo, which adds a newline', command: `echo '{"id":"evt_1"}' > body.json`, matches: false },
    ])('a file made by $of', async ({ command, matches }) => {
      const { output } = await bash(`${command}\n${example(SIGN)}`);
      expect(output.trim() === signBody('{"id":"evt_1"}', SECRET)).toBe(matches);
    });
  });

  describe('the log names the reason', () => {
    const { body, headers } = signedOrder();
    const right = headers['X-Signature'] ?? '';
    const text = body.toString();
    const secret = (other: string): Delivery => ({ body, signature: signBody(body, other) });
    const bytes = (other: string | Uint8Array): Delivery => ({ body: Buffer.from(other), signature: right });

    it.each<{ cause: string; delivery: Delivery; reason: Reason }>([
      { cause: 'no header', delivery: { body, signature: undefined }, reason: 'signature-missing' },
      { cause: 'uppercase', delivery: { body, signature: right.toUpperCase() }, reason: 'signature-malformed' },
      { cause: 'a prefix', delivery: { body, signature: `sha256=${right}` }, reason: 'signature-malformed' },
      { cause: 'a space', delivery: { body, signature: `${right} ` }, reason: 'signature-malformed' },
      { cause: 'twice', delivery: { body, signature: `${right}, ${right}` }, reason: 'signature-malformed' },
      {
        cause: 'base64 of it',
        delivery: { body, signature: Buffer.from(right, 'hex').toString('base64') },
        reason: 'signature-malformed',
      },
      {
        cause: 'parsed and written again',
        delivery: bytes(JSON.stringify(JSON.parse(text))),
        reason: 'signature-mismatch',
      },
      { cause: 'latin1', delivery: bytes(Buffer.from(text, 'latin1')), reason: 'signature-mismatch' },
      { cause: 'a byte order mark', delivery: bytes(`\uFEFF${text}`), reason: 'signature-mismatch' },
      { cause: 'CRLF', delivery: bytes(`${text}\r\n`), reason: 'signature-mismatch' },
      { cause: 'base64 of the body', delivery: bytes(body.toString('base64')), reason: 'signature-mismatch' },
      { cause: 'a newline after the secret', delivery: secret(`${SECRET}\n`), reason: 'signature-mismatch' },
      { cause: 'quotes around the secret', delivery: secret(`"${SECRET}"`), reason: 'signature-mismatch' },
      {
        cause: 'compressed',
        delivery: { body, signature: right, contentEncoding: 'gzip' },
        reason: 'encoding-unsupported',
      },
    ])('$cause: $reason', async ({ delivery, reason }) => {
      const { outcome, log } = await received(delivery);
      expect('reason' in outcome && outcome.reason).toBe(reason);
      expect(log).toEqual([expect.objectContaining({ reason })]);
    });

    it('a text as body is no answer to the sender, and the log says so', async () => {
      const { outcome, log } = await received({ body: text, signature: right } as unknown as Delivery);
      expect(outcome).toMatchObject({ status: 503 });
      expect(log[0]?.['cause']).toContain('a parsed or decoded body cannot be verified');
    });

    it('a rotated secret: both are tried', async () => {
      const { outcome } = await received({ body, signature: signBody(body, 'the old one') }, [SECRET, 'the old one']);
      expect(outcome.status).toBe(200);
    });

    it('base64 begins with eyJ', () => expect(body.toString('base64')).toMatch(/^eyJ/));
  });
}

async function received(
  delivery: Delivery,
  secret: string | readonly string[] = SECRET,
): Promise<{ outcome: Outcome; log: Readonly<Record<string, unknown>>[] }> {
  const log: Readonly<Record<string, unknown>>[] = [];
  const note = (facts: Readonly<Record<string, unknown>>): void => void log.push(facts);
  const logger = { info: note, warn: note, error: note };
  await using receiver = createReceiver({ secret, inbox: memoryInbox(), logger });
  return { outcome: await receiver.receive(delivery), log };
}
