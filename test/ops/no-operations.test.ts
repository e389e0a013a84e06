import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import * as ops from '../../src/ops/index.ts';
import { key } from './events-in-states.ts';

const calls: Partial<Record<keyof typeof ops, (inbox: Inbox) => Promise<unknown>>> = {
  rerunEvents: (inbox) => ops.rerunEvents(inbox, [key('evt')], { actor: 'ada' }),
  auditLines: ops.auditLines,
  getEvent: (inbox) => ops.getEvent(inbox, key('evt')),
  deadGroups: ops.deadGroups,
  listEvents: ops.listEvents,
  stats: ops.stats,
  metrics: ops.metrics,
  readiness: ops.readiness,
  rejectedDeliveries: ops.rejectedDeliveries,
};

it.each(Object.entries(calls))('%s refuses an inbox without operations', async (_, call) => {
  await using inbox = memoryInbox();
  await expect(call(inbox)).rejects.toMatchObject({
    name: 'ConfigurationError',
    code: 'INVALID_OPTION',
    message: expect.stringContaining('sqliteInbox'),
  });
});
