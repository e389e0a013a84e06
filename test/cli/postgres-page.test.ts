// @module-tag postgres
import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { onPostgres, PASSWORD } from './on-postgres.ts';
import { running, type Running } from './serving.ts';
import { stock } from './stocked-inbox.ts';

const there = onPostgres();
// The page is JSX, which Node does not run from its source.
const fromSource = process.env['HOOKBOX_FROM_SOURCE'] === '1';

/** `hookbox ui` on a stocked inbox, which is named by HOOKBOX_DB unless an argument names it. */
async function showing(args: readonly string[], HOOKBOX_DB: string): Promise<Running & { readonly url: string }> {
  {
    // What is given to work on in a transaction is of no matter here.
    await using inbox = postgresInbox(there.url, { schema: there.schema }) as unknown as Inbox;
    await stock(inbox);
  }
  const ui = running(['ui', '--port', '0', '--schema', there.schema, ...args], { cwd: there.cwd, env: { HOOKBOX_DB } });
  const announced = await ui.note(`hookbox shows ${there.shown} at`);
  return { ...ui, url: /http:\S+/.exec(announced)?.[0] ?? '' };
}

describe.skipIf(fromSource)('hookbox ui on Postgres', () => {
  it('shows every screen, acts, and has no word of files or passwords', async () => {
    const ui = await showing([], there.url);
    const page = async (path: string): Promise<string> => {
      const answer = await fetch(`${ui.url}${path}`);
      const html = await answer.text();
      expect(answer.status, html).toBe(200);
      expect(html).not.toContain(PASSWORD);
      return html;
    };
    const screens = ['', 'events', 'dead', 'rejected', 'bulks', 'audit', 'metrics', 'health/ready'];
    for (const path of screens) await page(path);
    expect(await page('events?state=dead&entity=ord_42')).toContain('evt_dead_1');
    expect(await page('health')).toContain('a test write just succeeded.');

    const event = await page('events/default/evt_dead_1');
    expect(event).toContain(`hookbox events rerun --schema ${there.schema} evt_dead_1`);
    const csrf = /name="csrf" value="([^"]+)"/.exec(event)?.[1] ?? '';
    const headers = { Origin: new URL(ui.url).origin };
    const post = (path: string, fields: Readonly<Record<string, string>> = {}): Promise<Response> =>
      fetch(`${ui.url}${path}`, {
        method: 'POST',
        redirect: 'manual',
        headers,
        body: new URLSearchParams({ csrf, reason: 'mended', ...fields }),
      });
    expect((await post('events/default/evt_dead_1/rerun')).status).toBe(303);
    expect(await page('audit')).toContain('mended');
    const erased = await post('maintenance/erase', { entity: 'ord_42', confirm: '1', typed: 'ord_42' });
    expect(erased.status).toBe(303);
    const done = await page(erased.headers.get('location')?.slice(1) ?? '');
    expect(done).toContain(
      '1 event was erased. Postgres keeps the erased data in dead rows until VACUUM removes the rows',
    );

    const dump = `pg_dump --format=custom --schema=${there.schema} --file=hookbox.dump`;
    const maintenance = await page('maintenance');
    expect(maintenance).toContain(dump);
    expect(maintenance).not.toContain('action="/maintenance/backup"');
    const backup = await post('maintenance/backup');
    expect(backup.status).toBe(409);
    expect(await backup.text()).toContain(dump);

    const live = await fetch(`${ui.url}live`);
    expect(live.status).toBe(200);
    expect(await ui.stop('SIGINT')).toMatchObject({ code: 130, stdout: '' });
    await live.body?.cancel().catch(() => {});
  });

  it('names the server in the commands that it offers where HOOKBOX_DB does not', async () => {
    const ui = await showing(['--db', there.url, '--read-only'], 'another.db');
    const event = await (await fetch(`${ui.url}events/default/evt_dead_1`)).text();
    expect(event).toContain(`hookbox events show --db ${there.shown} --schema ${there.schema} evt_dead_1`);
    expect(event).not.toContain(PASSWORD);
    expect(await ui.stop('SIGTERM')).toMatchObject({ code: 0 });
  });
});
