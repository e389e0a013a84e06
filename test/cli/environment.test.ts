import { writeFileSync } from 'node:fs';
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

  it('takes an empty port for none', async () => {
    expect((await runHookbox(['doctor', '--help'], { env: { PORT: '' } })).stdout).toContain('(default: 3000)');
    for (const PORT of ['', '0', 'http', '99999']) {
      const { stdout } = await runHookbox(['trigger', '--help'], { env: { PORT } });
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain('http://localhost:3000/webhooks');
    }
  });
});

describe('hookbox', () => {
  it.each(['-v', '--version', '-V'])('says which version it is: %s', async (flag) => {
    expect(await runHookbox([flag])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  });
});
