import { expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { listEvents } from '../../src/ops/find.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { countSteps } from '../steps.ts';

const READERS = /\/src\/(?:inbox|events)\//;
const FIELDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

it('reading a body takes no more steps for eight conditions than for one, but for the conditions themselves', async () => {
  await using inbox = sqliteInbox(scratchFile());
  const fields = Object.fromEntries(FIELDS.map((name) => [name, name]));
  const body = JSON.stringify({ data: { ...fields, list: Array.from({ length: 20_000 }, (_, n) => ({ [n]: n })) } });
  await inbox.accept(incoming({ id: 'evt_1', body }), later());
  const stepsFor = async (names: readonly string[]): Promise<number> => {
    // The last field is missing, so the body is read to its end.
    const body = [...names, 'none'].map((name) => ({ path: `data.${name}`, value: name }));
    const steps = countSteps(READERS);
    await listEvents(inbox, { body });
    return steps();
  };
  await stepsFor([]);
  const [one, eight] = [await stepsFor([]), await stepsFor(FIELDS)];
  expect(one).toBeGreaterThan(20_000);
  expect(eight).toBeLessThan(1.1 * one);
});
