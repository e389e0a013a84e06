import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { restApi } from '../aws-events.ts';
import { expectConsole } from '../console.ts';
import { signBody } from '../../../src/index.ts';
import { forged, send, signedOrder } from '../deliveries.ts';
import { SECRET } from '../secret.ts';
import { startFunction } from '../function-host.ts';
import { changed, example } from '../page.ts';
import type { Project } from '../project.ts';
import { run, startServer, type Finished, type RunningServer } from '../server.ts';

const CAPTURE = 'keep deliveries that do not match';
const EXPLAIN = 'why the signature does not match body.json';
const SIGN = 'the signature of body.json';
const SEND = 'sign body.json and send it';
const SEND_KNOWN = 'send a known body to WEBHOOK_URL';

export function mismatch(project: () => Project): void {
  const folder = (): string => join(project().folder, 'mismatch');
  const bash = (script: string, env: Readonly<Record<string, string>> = {}): Promise<Finished> =>
    run(['bash', '-c', withoutNpx(script)], folder(), env);
  /** npx would use the network. */
  const withoutNpx = (script: string): string =>
    script.replaceAll(
      'npx hookbox',
      `'${process.execPath}' '${join(project().folder, 'node_modules/hookbox/dist/src/cli/hookbox.js')}'`,
    );
  const explain = (secret: string): Promise<Finished> =>
    bash(changed(example(EXPLAIN), ['paste it here', secret]), { SIGNING_SECRET: 'what the process has' });

  describe('capture.mjs', () => {
    const capture = (env: Readonly<Record<string, string>> = {}): Promise<RunningServer> => {
      const installed = join(project().folder, example(CAPTURE).trim().replace('node ', ''));
      expect(readFileSync(installed, 'utf8')).toBe(example('mismatch/capture.mjs'));
      mkdirSync(folder(), { recursive: true });
      for (const name of ['body.json', 'signature.txt']) rmSync(join(folder(), name), { force: true });
      return startServer(project(), [process.execPath, installed], { cwd: folder(), env });
    };
    const kept = (name: string): string => readFileSync(join(folder(), name), 'utf8');

    it('keeps what does not match, stores nothing, and has everything redelivered', async () => {
      await using server = await capture();
      expect(await send(server.url, signedOrder())).toMatchObject({ status: 503 });
      await expectConsole(server).toMatch(/^right \d+ bytes\n$/);
      expect(existsSync(join(folder(), 'body.json'))).toBe(false);

      const wrong = forged(signedOrder());
      expect(await send(server.url, wrong)).toMatchObject({ status: 503 });
      await expectConsole(server).toMatch(/\nwrong \d+ bytes\n$/);
      expect(await send(server.url, signedOrder())).toMatchObject({ status: 503 });
      const probe = await fetch(server.url);
      expect(await probe.text()).toBe('');
      expect(probe.status).toBe(200);
      expect([kept('body.json'), kept('signature.txt')]).toEqual([wrong.body.toString(), wrong.headers['X-Signature']]);
      expect(existsSync(server.database)).toBe(false);

      const { 'X-Signature': _, ...unsigned } = wrong.headers;
      expect(await send(server.url, { ...wrong, headers: unsigned })).toMatchObject({ status: 503 });
      await expect.poll(() => kept('signature.txt')).toBe('');
    });

    it('tells a wrong secret from bytes that were changed', async () => {
      // The process has another secret than the dashboard.
      await using server = await capture({ SIGNING_SECRET: 'what the process has' });
      const order = signedOrder();
      await send(server.url, order);
      await expectConsole(server).toContain('wrong');
      expect(await explain(SECRET)).toEqual({ code: 0, output: 'valid\n' });
      const env = { SIGNING_SECRET: 'what the process has', DASHBOARD_SECRET: SECRET };
      expect(await bash(example(SIGN), env)).toEqual({ code: 0, output: `${order.headers['X-Signature']}\n` });
      expect((await bash(example(SIGN))).output).toContain('DASHBOARD_SECRET: '); // not SIGNING_SECRET instead

      const rewritten = Buffer.from(JSON.stringify(JSON.parse(order.body.toString())));
      await send(server.url, { ...order, body: rewritten });
      expect(await explain(SECRET)).toMatchObject({ code: 1, output: expect.stringContaining('\nre-serialised: ') });
      await send(server.url, { ...order, headers: { ...order.headers, 'X-Signature': signBody(order.body, 'else') } });
      expect(await explain(SECRET)).toMatchObject({ code: 1, output: expect.stringContaining('\nwrong-bytes: ') });
    });
  });

  describe('where there is no port, the fingerprint of what was sent', () => {
    beforeAll(() => void project().write('mismatch/fingerprint.mjs', example('mismatch/fingerprint.mjs')));

    it('is that of what a Request brings', async () => {
      project().write(
        'mismatch/printed.mjs',
        `import { createServer } from 'node:http';
         import { getRequestListener } from '@hono/node-server';
         import { webhookVerifier } from 'hookbox/fetch';
         import { printRequest } from './fingerprint.mjs';

         const POST = printRequest(
           webhookVerifier({ secret: process.env.SIGNING_SECRET }, ({ id }) => Response.json({ received: true, id })),
         );
         createServer(getRequestListener(POST)).listen(process.env.PORT);`,
      );
      await using server = await startServer(project(), [process.execPath, 'mismatch/printed.mjs']);
      const { code, output } = await bash(example(SEND_KNOWN), { WEBHOOK_URL: server.url });
      expect(code, output).toBe(0);
      const [, bytes = '', sha256 = ''] = /^\s*(\d+)\n([0-9a-f]{64}) /.exec(output) ?? [];
      await expectConsole(server).toBe(`${bytes} ${sha256}\n`);
    });

    it.each([false, true])('is that of what a Lambda event brings, in base64: %s', async (base64) => {
      project().write(
        'mismatch/printed-lambda.mjs',
        `import { webhookVerifier } from 'hookbox/aws-lambda';
         import { printLambdaEvent } from './fingerprint.mjs';

         export const handler = printLambdaEvent(webhookVerifier({ secret: process.env.SIGNING_SECRET }, () => {}));`,
      );
      await using host = await startFunction(project(), 'mismatch/printed-lambda.mjs', {});
      const order = signedOrder();
      const event = restApi({ ...order, base64 });
      expect(await host.call({ name: 'handler', event, remainingMs: 10_000 })).toMatchObject({ statusCode: 200 });
      const sha256 = createHash('sha256').update(order.body).digest('hex');
      await expectConsole(host).toBe(`${order.body.byteLength} ${sha256}\n`);
    });
  });

  describe('a test with curl', () => {
    // Formatted, as by an editor.
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
      const { output } = await bash(`${command}\n${example(SIGN)}`, { DASHBOARD_SECRET: SECRET });
      expect(output.trim() === signBody('{"id":"evt_1"}', SECRET)).toBe(matches);
    });
  });
}
