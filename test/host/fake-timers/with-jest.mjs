import { jest } from '@jest/globals';
import { inboxes, useWhileTimeStands } from './shop.mjs';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it.each(Object.entries(inboxes))('an inbox %s', (_, open) => useWhileTimeStands(open));
