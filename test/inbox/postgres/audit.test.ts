import { onTestFinished } from 'vitest';
import { testAudit } from '../../ops/audit.conformance.ts';
import { operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testAudit('the audit in Postgres', async () => {
  const inbox = await schema().open();
  onTestFinished(() => inbox.close());
  return inbox;
});
