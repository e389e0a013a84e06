import { beforeAll, describe, expect, it } from 'vitest';
import { expectConsole } from '../console.ts';
import { functionUrl, httpApi, loadBalancer, loadBalancerMultiValue, restApi, type Request } from '../aws-events.ts';
import { forged, signedOrder } from '../deliveries.ts';
import { startFunction, type FunctionHost } from '../function-host.ts';
import { example } from '../page.ts';
import type { Project } from '../project.ts';

const KINDS = [
  { kind: 'REST API', toEvent: restApi },
  { kind: 'HTTP API', toEvent: httpApi },
  { kind: 'function URL', toEvent: functionUrl },
  { kind: 'load balancer', toEvent: loadBalancer },
  { kind: 'load balancer with multi-value headers', toEvent: loadBalancerMultiValue },
];

const LAMBDA = {
  AWS_LAMBDA_FUNCTION_NAME: 'webhooks',
  AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
  AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
  AWS_REGION: 'eu-central-1',
  LAMBDA_TASK_ROOT: '/var/task',
};

interface Result {
  readonly statusCode: number;
  readonly body: string;
}

export function lambda(project: () => Project): void {
  const FILE = 'aws-lambda/index.mjs';
  beforeAll(() => void project().write(FILE, example(FILE)));

  async function invoke(host: FunctionHost, event: unknown, remainingMs = 10_000): Promise<Result> {
    return (await host.call({ name: 'handler', event, remainingMs })) as Result;
  }

  describe.each(KINDS)('$kind', ({ kind, toEvent }) => {
    it('hands on what is authentic, each time, and refuses what is forged', async () => {
      await using host = await startFunction(project(), FILE, LAMBDA);
      const order = signedOrder();
      const ok = { statusCode: 200, body: JSON.stringify({ received: true, id: order.id }) };
      expect(await invoke(host, toEvent(order))).toMatchObject(ok);
      expect(await invoke(host, toEvent(order))).toMatchObject(ok);
      expect(await invoke(host, toEvent({ ...order, base64: true }))).toMatchObject(ok);
      const message = JSON.stringify({ body: order.body.toString(), signature: order.headers['X-Signature'] });
      expect(host.queue.messages()).toEqual([message, message, message]);

      const refused = { statusCode: 401, body: expect.stringContaining('INVALID_SIGNATURE') };
      const unsigned = { ...signedOrder(), headers: { 'Content-Type': 'application/json' } };
      for (const wrong of [forged(order), unsigned, { ...forged(order), base64: true }]) {
        expect(await invoke(host, toEvent(wrong))).toMatchObject(refused);
      }
      const healthCheck: Request = { method: 'GET', headers: {}, body: Buffer.from('') };
      expect(await invoke(host, toEvent(healthCheck))).toMatchObject({ statusCode: 405 });
      expect(host.queue.messages()).toHaveLength(3);

      host.queue.setDown(true);
      expect(await invoke(host, toEvent(order))).toMatchObject({ statusCode: 500 });
      await expectConsole(host).toContain('reason=not-passed-on');
      host.queue.setDown(false);
      expect(await invoke(host, toEvent(order))).toMatchObject(ok);
      expect(host.queue.messages()).toHaveLength(4);
    });

    it('tells a body that others have changed from one that is forged', async () => {
      await using host = await startFunction(project(), FILE, LAMBDA);
      const order = signedOrder();
      const parsed = { ...toEvent(order), body: JSON.parse(order.body.toString()) as unknown };
      expect(await invoke(host, parsed)).toMatchObject({
        statusCode: 500,
        body: expect.stringContaining('BODY_CONSUMED'),
      });
      await expectConsole(host).toContain(
        'middleware parsed event.body before hookbox read it. Run hookbox before that middleware',
      );
      const decoded = { ...toEvent(order), isBase64Encoded: true };
      expect(await invoke(host, decoded)).toMatchObject({
        statusCode: 400,
        body: expect.stringContaining('INVALID_BODY'),
      });
      await expectConsole(host).toContain('reason=body-not-base64');
      const unflagged = { ...toEvent({ ...order, base64: true }), isBase64Encoded: false };
      expect(await invoke(host, unflagged)).toMatchObject({ statusCode: 401 });
      await expectConsole(host).toContain('reason=signature-mismatch');
      expect(host.queue.messages(), kind).toEqual([]);
    });
  });

  it('answers half a second before the function would be ended', async () => {
    await using host = await startFunction(project(), FILE, { ...LAMBDA, QUEUE_MS: '1250' });
    expect(await invoke(host, restApi(signedOrder()), 1_500)).toMatchObject({
      statusCode: 503,
      body: expect.stringContaining('could not be forwarded in time'),
    });
  });
}
