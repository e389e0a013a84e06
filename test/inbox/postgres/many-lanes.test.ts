import { describe } from 'vitest';
import { testManyLanes } from '../../processing/many-lanes.conformance.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

describe('very many types in Postgres:', { timeout: 60_000 }, () => {
  testManyLanes(async () => closedAfter(await schema().open()));
});
