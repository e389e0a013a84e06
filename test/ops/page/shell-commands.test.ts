import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { copyInPostgres } from '../../../src/ops/backup.ts';
import { eventCommand } from '../../../src/processing/endpoint.ts';
import { opsPage } from '../../../src/page/operators-page.tsx';
import { hostileTexts } from '../../browser/hostile-texts.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../../helpers/order-event.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { ADA, openedPage, signedIn } from './opened-page.ts';
import { unescaped } from './read-html.ts';

test.for([
  ['evt_1', 'default', 'hookbox events show evt_1'],
  ['evt_1', 'b', 'hookbox events show --endpoint b evt_1'],
  ['-rf', 'default', 'hookbox events show -- -rf'],
  [`it's; rm -rf ~`, 'default', String.raw`hookbox events show 'it'\''s; rm -rf ~'`],
  ['$(reboot)`reboot`', 'default', "hookbox events show '$(reboot)`reboot`'"],
  // Pasted as they are, these would steer the terminal.
  ["\u001b[31m'\\\n", 'default', String.raw`hookbox events show $'\u001b[31m\'\\\u000a'`],
  ['a\u{e0041}\u00ad', 'default', String.raw`hookbox events show $'a\U000e0041\u00ad'`],
] as const)('the command for %j at %j', ([id, endpoint, expected]) => {
  expect(eventCommand('show', { endpoint, id })).toBe(expected);
});

test('says what else the act needs', () => {
  expect(eventCommand('rerun', { endpoint: 'default', id: 'evt_1' }, { force: true })).toBe(
    'hookbox events rerun --force evt_1',
  );
});

test.for([
  ['shop.db', 'hookbox events show --db shop.db evt_1'],
  ["/srv/ada's shop/shop.db", String.raw`hookbox events show --db '/srv/ada'\''s shop/shop.db' evt_1`],
  ['-shop.db', 'hookbox events show --db=-shop.db evt_1'],
] as const)('names the file %s where it is known', ([db, expected]) => {
  expect(eventCommand('show', { endpoint: 'default', id: 'evt_1' }, { db })).toBe(expected);
});

test('the page names a file by its whole path, as a command is copied into any folder', async () => {
  const { inbox, html } = openedPage({ db: 'data/ada shop.db', mask: ['data.customer'] });
  const file = `'${resolve('data/ada shop.db')}'`;
  const maintenance = unescaped(await html('/maintenance'));
  for (const act of ['export', 'import', 'backup']) expect(maintenance).toContain(`hookbox events ${act} --db ${file}`);
  await store(inbox, orderEvent('evt_1'));
  expect(unescaped(await html('/events/default/evt_1'))).toContain(`hookbox events show --db ${file} evt_1`);
});

test('names an inbox in Postgres without its user and password, which others would read', () => {
  const inbox = { db: 'postgres://ada:secret@db.example/shop?password=secret', schema: 'my inbox' };
  expect(eventCommand('show', { endpoint: 'default', id: 'evt_1' }, inbox)).toBe(
    "hookbox events show --db postgres://db.example/shop --schema 'my inbox' evt_1",
  );
  expect(copyInPostgres(inbox)).toMatch(
    /: pg_dump --format=custom --schema='my inbox' --file=hookbox\.dump postgres:\/\/db\.example\/shop$/,
  );
});

test('the page of an inbox in Postgres finds out which schema a copy is made of', async () => {
  const { file: _, ...inbox } = sqliteInbox(scratchFile());
  onTestFinished(() => inbox.close());
  const app = opsPage({ inbox: { ...inbox, schema: 'shop' } }, { basic: [ADA] });
  const maintenance = await app.request('http://localhost/maintenance', { headers: signedIn(ADA) });
  expect(await maintenance.text()).toContain('pg_dump --format=custom --schema=shop ');
});

test('a shell reads the very id, whatever it is', () => {
  // No argument of a program can have a null byte.
  const ids = Object.values<string>(hostileTexts).filter((text) => !text.includes('\0'));
  const script = ids.map((id) => eventCommand('rerun', { endpoint: id, id })).join('\n');
  const definition = `hookbox() { printf '%s\\0' "\${@: -1}"; }`;
  const output = execFileSync('bash', ['--norc', '-c', `${definition}\n${script}`], {
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
  });
  expect(output.toString().split('\0').slice(0, -1)).toEqual(ids);
  expect(script).not.toMatch(/(?!\n)\p{Cc}|\p{Bidi_Control}/u);
});
