import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { expectConsole } from '../console.ts';
import { forged, signedOrder, type SignedOrder } from '../deliveries.ts';
import { startFunction } from '../function-host.ts';
import { example } from '../page.ts';
import type { Project } from '../project.ts';
import { startServer } from '../server.ts';

async function overHttp2(url: string, method: string, order: SignedOrder): Promise<{ status: number; body: string }> {
  const session = connect(new URL(url).origin);
  const closed = new Promise((resolve) => session.once('close', resolve));
  session.on('error', () => {}); // a server that has answered need not read the rest
  try {
    const headers = Object.fromEntries(
      Object.entries(order.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const stream = session.request({ ':method': method, ':path': '/webhooks', ...headers });
    stream.end(order.body);
    const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
    return { status: Number(answer[constants.HTTP2_HEADER_STATUS]), body: await text(stream) };
  } finally {
    session.destroy();
    await closed;
  }
}

export function ownAdapter(project: () => Project): void {
  describe('receive', () => {
    it('stores what is authentic, once, and refuses everything else', async () => {
      project().write('own-adapter/server.mjs', example('own-adapter/server.mjs'));
      await using server = await startServer(project(), [process.execPath, 'own-adapter/server.mjs']);
      const order = signedOrder(300_000);
      const answered = (duplicate: boolean): object => ({
        status: 200,
        body: JSON.stringify({ received: true, duplicate, id: order.id }),
      });
      expect(await overHttp2(server.url, 'POST', order)).toEqual(answered(false));
      expect(await overHttp2(server.url, 'POST', order)).toEqual(answered(true));
      expect(await overHttp2(server.url, 'POST', forged(order))).toMatchObject({ status: 401 });
      expect(await overHttp2(server.url, 'PUT', order)).toMatchObject({ status: 405 });
      expect(await overHttp2(server.url, 'POST', signedOrder(2_000_000))).toMatchObject({ status: 413 });
    });
  });

  describe('createVerifier', () => {
    it('lets what is authentic through', async () => {
      project().write('own-adapter/verify.mjs', example('own-adapter/verify.mjs'));
      await using host = await startFunction(project(), 'own-adapter/verify.mjs', {});
      const { id, body, headers } = signedOrder();
      const verify = (signature: string | undefined): Promise<unknown> =>
        host.call({ name: 'verify', parameters: [{ body, signature }] });
      expect(await verify(headers['X-Signature'])).toEqual({ status: 200, body: { received: true } });
      await expectConsole(host).toBe(`${id} order.confirmed ${body.byteLength}\n`);
      expect(await verify(forged(signedOrder()).headers['X-Signature'])).toMatchObject({ status: 401 });
      expect(await verify(undefined)).toMatchObject({ status: 401 });
    });
  });
}
