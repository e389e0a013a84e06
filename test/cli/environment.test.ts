import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { signBody } from '../../src/signing/signature.ts';
import { VERSION } from '../../src/version.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { recordingServer } from './recording-server.ts';
import { runHookbox, SECRET } from './run-hookbox.ts';
import { running } from './serving.ts';

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = scratchFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe('the environment of a command', () => {
  it('says where serve listens and stores, by itself and from a file', async () => {
    const cwd = folderWith({ '.env': "HOOKBOX_DB='of the file.db'\nPORT=1\nSIGNING_SECRET=another\n" });
    const serve = running(['serve', '--env-file', '.env'], { cwd, env: { PORT: '0' } });
    const announced = await serve.note('hookbox receives deliveries at');
    expect(announced).toContain('stores them in of the file.db');
    const port = /:(\d+)\//.exec(announced)?.[1] ?? '';
    // Whatever has the same environment finds it.
    const ran = await runHookbox(['trigger', 'order.ready'], { env: { PORT: port } });
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('200  stored') });
    await serve.stop('SIGTERM');
  });

  it('comes from files: what is set stays, and the last file counts', async () => {
    const server = await recordingServer();
    const cwd = folderWith({
      'first.env': `HOOKBOX_URL=http://localhost:1/\nSIGNING_SECRET=of the first`,
      'last.env': `# the receiver\nexport HOOKBOX_URL="${server.url}"\n`,
    });
    const files = ['--env-file', 'first.env', '--env-file=last.env'];
    for (const args of [
      ['trigger', 'order.ready', ...files],
      [...files, 'trigger', 'order.ready'],
    ]) {
      expect(await runHookbox(args, { cwd })).toMatchObject({ code: 0 });
    }
    expect(server.requests).toHaveLength(2);
    for (const { body, headers } of server.requests) expect(headers['x-signature']).toBe(signBody(body, SECRET));
  });

  // The first as Windows writes it: with a mark before the first name.
  it.each(['\ufeffHOOKBOX_DB=there.db\r\n', 'HOOKBOX_DB=there.db'])('comes from a file of %j', async (text) => {
    const ran = await runHookbox(['events', 'stats', '--env-file', '.env'], { cwd: folderWith({ '.env': text }) });
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining('The file there.db does not exist') });
  });

  it.each([
    ['a file that is not there', ['--env-file', 'nowhere'], 4, 'hookbox cannot read the file of --env-file'],
    ['a folder', ['--env-file=.'], 2, '. is a folder. Pass the path of a file.'],
    ['no file', ['--env-file'], 2, '--env-file needs the path of a file.'],
  ])('given %s, says so', async (_, args, code, message) => {
    const ran = await runHookbox(['schema', ...args], { cwd: scratchFolder() });
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  });

  it('may have a port that is none: then it is said, and an empty one is none at all', async () => {
    expect(await runHookbox(['doctor'], { env: { PORT: 'http' } })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/'PORT' is invalid\. Use a whole number from 0 to 65535\./),
    });
    expect((await runHookbox(['doctor', '--help'], { env: { PORT: '' } })).stdout).toContain('(default: 3000)');
    for (const PORT of ['', '0', 'http', '99999']) {
      const { stdout } = await runHookbox(['trigger', '--help'], { env: { PORT } });
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain('http://localhost:3000/webhooks');
    }
  });
});

describe('an inbox that is named by nothing, as by a variable that is not set', () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ['events import events.ndjson', { HOOKBOX_DB: '' }],
    ['events import events.ndjson --db=', {}],
    ['events import events.ndjson --env-file unset.env', {}],
    ['migrate --print', { HOOKBOX_DB: '' }],
    ['doctor --port 0', { HOOKBOX_DB: '' }],
  ])('is refused: %s %o', async (line, env) => {
    const cwd = folderWith({ 'events.ndjson': '', 'unset.env': 'HOOKBOX_DB=\n' });
    const ran = await runHookbox(line.split(' '), { cwd, env });
    expect(ran).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('The path is empty. Check that its environment variable is set.'),
    });
    expect(readdirSync(cwd)).toEqual(['events.ndjson', 'unset.env']);
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['events import events.ndjson --db file:x.db', {}, 'The path starts with file:'],
    ['events import events.ndjson', { HOOKBOX_DB: 'sqlite:x.db' }, 'The path starts with sqlite:'],
    ['serve --port 0', { HOOKBOX_DB: '${DB}' }, 'The path contains a variable'],
    ['doctor --port 0', { HOOKBOX_DB: 'undefined' }, 'A part of the path is “undefined” or “null”'],
    ['events import events.ndjson', { HOOKBOX_DB: 'shop.db\r' }, 'The path starts or ends with a space'],
    ['sandbox --port 0 --db null', {}, 'A part of the path is “undefined” or “null”'],
    ['events export --out ${OUT}', { HOOKBOX_DB: '../shop.db' }, 'The path contains a variable'],
  ])('is refused where it was not meant for a path: %s %o', async (line, env, why) => {
    const cwd = folderWith({ 'events.ndjson': '' });
    const ran = await runHookbox(line.split(' '), { cwd, env });
    expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(why) });
    expect(readdirSync(cwd)).toEqual(['events.ndjson']);
  });

  it('does not matter where --db says which is meant', async () => {
    const ran = await runHookbox(['events', 'list', '--db', 'shop.db'], {
      cwd: scratchFolder(),
      env: { HOOKBOX_DB: '' },
    });
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining('The file shop.db does not exist.') });
  });
});

describe('hookbox', () => {
  it.each(['-v', '--version', '-V'])('says which version it is: %s', async (flag) => {
    expect(await runHookbox([flag])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  });
});
