import { testTraffic } from '../../ops/traffic.conformance.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testTraffic('what comes in at an inbox in Postgres', async () => closedAfter(await schema().open()));
