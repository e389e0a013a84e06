import { afterEach, beforeEach, it, vi } from 'vitest';
import { inboxes, useWhileTimeStands } from './shop.mjs';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it.each(Object.entries(inboxes))('an inbox %s', (_, open) => useWhileTimeStands(open));
