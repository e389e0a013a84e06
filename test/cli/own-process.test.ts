// @module-tag dear
import { expect, it } from 'vitest';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, runProcess } from './run-hookbox.ts';

const input = '{"id":"evt_1","type":"order.created"}';

it.each([
  '--version',
  '--help',
  'chek',
  'check http://127.0.0.1:9/webhooks',
  'trigger - --dry-run',
  'events list',
  'events list --db none.db',
  'migrate --print',
  'replay --all',
  'scenario list',
  'sign -',
  'verify - --signature none --explain',
  'fixtures show order.created',
  'schema order.created',
  'doctor --secret x',
])('a command says the same in a process of its own and after others: %s', async (line) => {
  const args = line.split(' ');
  const cwd = scratchFolder();
  const own = await runProcess(args, { cwd, input });
  expect(`${own.stdout}${own.stderr}`).not.toBe('');
  expect(await runHookbox(args, { cwd, input })).toEqual(own);
  expect(await runHookbox(args, { cwd, input })).toEqual(own);
});
