import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { schemasIn } from '../../src/cli/shared/own-module.ts';
import { bodiesOf } from '../../src/cli/trigger-body.ts';
import { EARNED, schemaBy } from '../helpers/own-events.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { runProcess } from './run-hookbox.ts';
import { serving } from './serving.ts';

const SHOP = `
  setInterval(() => {}, 1_000); // holds its process open
  const validate = async (data) => {
    if (data.points === undefined) throw new Error('no table');
    return Number.isInteger(data.points) ? { value: data } : { issues: [{ message: String(data.points), path: ['points'] }] };
  };
  export const events = { 'loyalty.earned': { '~standard': { version: 1, vendor: 'hand', validate } } };
  export const handlers = { 'loyalty.earned': (event) => console.log('earned', event.data.points + 1) };
`;

it('a type of your own is triggered, checked with its schema, and handled by serve', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'shop.mjs'), SHOP);
  const serve = await serving(['shop.mjs'], { cwd });
  const env = { HOOKBOX_URL: serve.url };
  const triggering = (...overrides: string[]) => {
    const args = overrides.flatMap((each) => ['--override', each]);
    return runProcess(['trigger', EARNED, '--events', 'shop.mjs', ...args], { cwd, env });
  };
  const fits = await triggering('data.points=5');
  expect(fits).toEqual({ code: 0, stdout: expect.stringMatching(/^200 {2}stored {5}loyalty\.earned /), stderr: '' });
  expect(await serve.line('handler processed')).toContain(EARNED);
  expect(serve.stderr).toContain('earned 6');

  const unfit = await triggering('data.points=rosebud');
  expect(unfit).toMatchObject({ code: 0, stdout: expect.stringContaining('stored') });
  const why = 'data.points: does not fit';
  expect(unfit.stderr).toBe(
    `note: the event does not fit your schema for ${EARNED}, so hookbox will store it as dead: ${why}\n`,
  );
  expect(await serve.line('handler dead')).toContain(`(attempt 1: ${why})`);
  expect(JSON.stringify([serve.stdout, serve.stderr])).not.toContain('rosebud');

  const unreported = await triggering();
  expect(unreported.stderr).toBe(`note: your schema for ${EARNED} failed to check the event: no table\n`);
}, 30_000);

it.each([
  ['none.mjs', null, ' does not exist.'],
  ['empty.mjs', 'export const handlers = {};', 'exports no schemas. Add: export const events = {'],
  [
    'wrong.mjs',
    "export const events = { 'loyalty.earned': { points: 'number' } };",
    'The schema of loyalty.earned in events',
  ],
])('--events %s is refused with a sentence that says why', async (name, source, said) => {
  const { console } = globalThis;
  onTestFinished(() => void Object.assign(globalThis, { console }));
  const file = join(scratchFolder(), name);
  if (source !== null) writeFileSync(file, source);
  await expect(schemasIn(file)).rejects.toThrow(said);
});

it('a type that has no schema is refused, with the one that was meant', async () => {
  const mistyped = bodiesOf('loyalty.erned', {}, { [EARNED]: schemaBy((value) => ({ value })) });
  await expect(mistyped).rejects.toThrow(
    '"loyalty.erned" is neither an event type nor a file. Did you mean loyalty.earned? For a type of your own, add --events',
  );
});

it('makes an event of a type of your own each time, with the data that is given and no other', async () => {
  const schemas = { [EARNED]: schemaBy((value) => ({ value })) };
  const make = await bodiesOf(EARNED, { override: ['data.points=5'] }, schemas);
  const [one, other] = [make(), make()].map((body) => JSON.parse(body.toString()) as { id: string });
  expect(one).toEqual({
    id: expect.stringMatching(/^evt_/),
    type: EARNED,
    created: expect.any(String),
    data: { points: 5 },
  });
  expect(other?.id).not.toBe(one?.id);
  const same = await bodiesOf(EARNED, { eventId: 'evt_1' }, schemas);
  expect(same().equals(same())).toBe(true);
});
