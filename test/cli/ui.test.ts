// @module-tag dear
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { userAtHost } from '../../src/cli/events/options.ts';
import { accessOf } from '../../src/cli/ui.ts';
import { listening } from './listening.ts';
import { runHookbox, type RunOptions } from './run-hookbox.ts';
import { running, type Running } from './serving.ts';
import { stockedFolder } from './stocked-inbox.ts';

// The page is JSX, which Node does not run from its source.
const fromSource = process.env['HOOKBOX_FROM_SOURCE'] === '1';

async function showing(args: readonly string[], options: RunOptions): Promise<Running & { readonly url: string }> {
  const ui = running(['ui', '--port', '0', ...args], options);
  const announced = await ui.note('hookbox shows hookbox.db at');
  return { ...ui, url: /http:\S+/.exec(announced)?.[0] ?? '' };
}

async function token(url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const page = await (await fetch(`${url}events/default/evt_dead_1`, { headers })).text();
  return /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

describe.skipIf(fromSource)('hookbox ui', () => {
  it('shows the page to this machine, whose users are operators, until it is stopped', async () => {
    const cwd = await stockedFolder();
    const ui = await showing([], { cwd });
    await ui.note('The page has no login: every user of this machine is an operator.');
    const list = await fetch(`${ui.url}events`);
    expect(list.status).toBe(200);
    expect(await list.text()).toContain('evt_dead_1');
    expect((await fetch(`${ui.url}assets/page.css`)).status).toBe(200);
    expect((await fetch(`${ui.url}events`, { headers: { 'Sec-Fetch-Site': 'cross-site' } })).status).toBe(403);
    expect((await fetch(`${ui.url}events`, { headers: { 'X-Forwarded-For': '192.0.2.1' } })).status).toBe(403);

    const event = await (await fetch(`${ui.url}events/default/evt_dead_1`)).text();
    expect(event).toMatch(/hookbox events rerun --db \/\S+\/hookbox\.db evt_dead_1/);

    const rerun = await fetch(`${ui.url}events/default/evt_dead_1/rerun`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Origin: new URL(ui.url).origin },
      body: new URLSearchParams({ csrf: await token(ui.url), reason: 'mended' }),
    });
    expect(rerun.status).toBe(303);
    const audit = await runHookbox(['events', 'audit', '--json'], { cwd });
    expect(JSON.parse(audit.stdout)).toMatchObject({
      act: 'rerun',
      via: 'page',
      actor: userAtHost(),
      reason: 'mended',
    });

    // A stream that a browser keeps open does not hold it up.
    const live = await fetch(`${ui.url}live`);
    expect(live.status).toBe(200);
    expect(await ui.stop('SIGINT')).toMatchObject({ code: 130, stdout: '' });
    await live.body?.cancel().catch(() => {});
  });

  it('with --read-only lets nobody act, and masks what it is told to', async () => {
    const cwd = await stockedFolder();
    const ui = await showing(['--read-only', '--mask', 'data.email'], { cwd });
    await ui.note('The page has no login: every user of this machine is a viewer');
    const event = await (await fetch(`${ui.url}events/default/evt_exact`)).text();
    expect(event).toContain('12.50');
    expect(event).not.toContain('ada@example.com');
    expect(event).not.toContain('name="csrf"');
    const rerun = await fetch(`${ui.url}events/default/evt_dead_1/rerun`, {
      method: 'POST',
      headers: { Origin: new URL(ui.url).origin },
      body: new URLSearchParams({ csrf: 'guessed' }),
    });
    expect(rerun.status).toBe(403);
    expect(await ui.stop('SIGTERM')).toMatchObject({ code: 0 });
  });

  it('asks for the password, which is not printed, and lets programs with a token look', async () => {
    const cwd = await stockedFolder();
    writeFileSync(join(cwd, 'password'), 'open sesame\n');
    const ui = await showing(['--host', '0.0.0.0', '--password-file', 'password'], {
      cwd,
      env: { HOOKBOX_UI_USER: 'ada', HOOKBOX_UI_TOKEN: 'a-token-for-programs' },
    });
    await ui.note(
      'the user ada, as an operator, and to clients that send the token, as viewers. Passwords and bodies cross the network unencrypted',
    );
    const status = async (path: string, authorization?: string): Promise<number> =>
      (await fetch(`${ui.url}${path}`, authorization === undefined ? {} : { headers: { authorization } })).status;
    const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`;
    expect(await status('events')).toBe(401);
    expect(await status('events', basic('ada:open sesame!'))).toBe(401);
    expect(await status('events', basic('ada:open sesame'))).toBe(200);
    expect(await status('metrics', 'Bearer no')).toBe(401);
    const robot = { authorization: 'Bearer a-token-for-programs' };
    expect(await status('metrics', robot.authorization)).toBe(200);
    const rerun = await fetch(`${ui.url}events/default/evt_dead_1/rerun`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...robot, Origin: new URL(ui.url).origin },
      body: new URLSearchParams({ csrf: await token(ui.url, robot) }),
    });
    expect(rerun.status).toBe(403);
    const { stdout, stderr } = await ui.stop('SIGTERM');
    expect(stdout + stderr).not.toMatch(/sesame|programs/);
  });

  it('does not start on a port in use', async () => {
    const taken = await listening(() => {});
    const ran = await runHookbox(['ui', '--port', new URL(taken.url).port], {
      cwd: await stockedFolder(),
      refused: true,
    });
    const stderr = expect.stringContaining('is in use. Choose a different --port.');
    expect(ran).toMatchObject({ code: 1, stdout: '', stderr });
    await taken.close();
  });
});

describe('who may see the page', () => {
  it.each(['0.0.0.0', '::', '192.0.2.1', 'shop.example', '127.shop.example', 'localhost.shop.example', '10.127.0.1'])(
    'without a login is nobody, where others reach it at %s',
    (host) => {
      expect(() => accessOf({ host })).toThrow('needs a login');
    },
  );

  it.each(['127.0.0.1', '127.8.8.8', '::1', 'localhost'])('without a login is this machine, at %s', (host) => {
    const name = userAtHost();
    expect(accessOf({ host }).page).toEqual({ unsafeOpen: { name, role: 'operator' } });
    expect(accessOf({ host, readOnly: true }).page).toEqual({ unsafeOpen: { name, role: 'viewer' } });
  });
});
