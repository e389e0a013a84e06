import { it } from 'node:test';
import { inboxes, useWhileTimeStands } from './shop.mjs';

for (const [name, open] of Object.entries(inboxes)) {
  it(`an inbox ${name}`, async (test) => {
    test.mock.timers.enable();
    await useWhileTimeStands(open);
  });
}
