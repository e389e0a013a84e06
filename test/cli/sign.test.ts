import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { signBody } from '../../src/signing/signature.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, SECRET } from './run-hookbox.ts';

const folder = suiteFolder();
const body = join(folder, 'body.json');
beforeAll(() => {
  writeFileSync(body, '{"id":"evt_1"}\n');
});

const digits = `${signBody('{"id":"evt_1"}\n', SECRET)}\n`;

describe('hookbox sign', () => {
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

  it.each([
    ['no file', [], 2, "missing required argument 'file'"],
    ['an unknown option', ['--secret', 'x', 'body.json'], 2, 'unknown option'],
    ['a file that is not there', ['nowhere.json'], 4, 'hookbox cannot read nowhere.json'],
    ['a secret file that is not there', ['-', '--secret-file', 'nowhere'], 4, 'hookbox cannot read the secret'],
    ['a folder', ['.'], 2, 'error: . is a folder. Pass the path of a file.\n'],
    ['a folder for the secret', ['-', '--secret-file', '.'], 2, 'error: . is a folder. Pass the path of a file.\n'],
  ])('given %s, prints nothing and ends with its code', async (_, args, code, message) => {
    const ran = await runHookbox(['sign', ...args]);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(message);
  });

  it('without a secret says where it comes from', async () => {
    const ran = await runHookbox(['sign', body], { env: { SIGNING_SECRET: '' } });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('Set SIGNING_SECRET or pass --secret-file.');
  });
});
