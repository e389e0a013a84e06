// @module-tag long
import { describe } from 'vitest';
import { PLACEMENTS } from '../runtimes/inbox-checks.ts';
import { testKilledHandlers } from '../runtimes/suites/killed-handlers.ts';

describe.each(PLACEMENTS)('by its %s', testKilledHandlers);
