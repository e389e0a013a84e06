import { expect, it } from 'vitest';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';

it('a logger that throws fails neither the delivery nor close()', async () => {
  const fail = (): never => {
    throw new Error('the log is full');
  };
  const logger = { info: fail, warn: fail, error: fail };
  const receiver = createReceiver({ secret: 'a secret', inbox: memoryInbox(), logger });
  const outcome = await receiver.receive({ body: new Uint8Array(3), signature: '0'.repeat(64) });
  expect(outcome).toMatchObject({ kind: 'rejected', status: 401 });
  await receiver.close();
});
