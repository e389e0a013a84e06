import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { signBody } from '../../src/signing/signature.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, SECRET } from './run-hookbox.ts';

const folder = suiteFolder();
const body = join(folder, 'body.json');
beforeAll(() => {
  writeFileSync(body, '{"id":"evt_1"}\n');
});

const digits = `${signBody('{"id":"evt_1"}\n', SECRET)}\n`;

it('prints the hex digits alone, of the exact bytes', async () => {
  expect(await runHookbox(['sign', body])).toEqual({ code: 0, stdout: digits, stderr: '' });
});

it('reads standard input for -', async () => {
  const ran = await runHookbox(['sign', '-'], { input: '{"id":"evt_1"}\n' });
  expect(ran).toEqual({ code: 0, stdout: digits, stderr: '' });
});

it('remarks on a body of nothing', async () => {
  const ran = await runHookbox(['sign', '-']);
  expect(ran).toEqual({
    code: 0,
    stdout: `${signBody('', SECRET)}\n`,
    stderr: 'note: the body is empty (0 bytes).\n',
  });
});

it('takes the secret from a file, without the newline that ends it', async () => {
  const file = join(folder, 'secret');
  writeFileSync(file, `${SECRET}\n`);
  const ran = await runHookbox(['sign', body, '--secret-file', file], { env: { SIGNING_SECRET: 'another' } });
  expect(ran).toEqual({ code: 0, stdout: digits, stderr: '' });
});

it('says that white space around a secret in a file counts', async () => {
  const file = join(folder, 'spaced');
  writeFileSync(file, ` ${SECRET}\n`);
  const ran = await runHookbox(['sign', body, '--secret-file', file]);
  expect(ran).toMatchObject({ code: 0, stdout: `${signBody('{"id":"evt_1"}\n', ` ${SECRET}`)}\n` });
  expect(ran.stderr).toContain('white space');
  expect(ran.stderr).not.toContain(SECRET);
});
