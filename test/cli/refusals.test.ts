import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { recordingServer } from './recording-server.ts';
import { runHookbox } from './run-hookbox.ts';

type Env = Readonly<Record<string, string>>;
type Refusal = readonly [line: string | readonly string[], code: number, message: string, env?: Env];

const NO_PATH = 'The path is empty. Check that its environment variable is set.';
const STATES = 'Use one of: pending, processing, processed, dead, ignored, discarded.';
const header = (value: string): readonly string[] => ['trigger', 'order.ready', '--header', value];

const REFUSALS: readonly Refusal[] = [
  ['trigger', 2, "missing required argument 'event'"],
  ['trigger order.craeted', 2, 'Did you mean order.created?'],
  ['trigger zzz', 2, 'The types are: order.created,'],
  ['trigger nowhere/body.json', 4, 'The file nowhere/body.json does not exist.'],
  ['trigger .', 2, '. is a folder. Pass the path of a file.'],
  ['trigger order.ready --to http://example.com/', 2, 'Add --allow-remote to allow it.'],
  ['trigger order.ready --to http://127.example.com/', 2, '--allow-remote'],
  ['trigger order.ready --to localhost', 2, 'is not an http or https URL'],
  ['trigger order.ready --override data.total', 2, 'must be path=value'],
  ['trigger order.ready --override data..x=1', 2, 'is not a path'],
  ['trigger order.ready --override data.total.x=1', 2, 'data.total is a number'],
  ['trigger order.ready --override id.x=1', 2, 'id is a string'],
  ['trigger order.ready --override data.items.9=1', 2, 'the list has 2 entries'],
  ['trigger list.json --override a=1', 2, 'The body is not a JSON object'],
  ['trigger order.ready --remove data.nothing', 2, 'the event has no value at this path'],
  ['trigger order.created --remove data.items.length', 2, 'the event has no value at this path'],
  ['trigger order.ready --event-id a --override id=b', 2, 'Use --event-id or --override id=…, not'],
  ['trigger order.ready --count 0', 2, 'Use a whole number of 1 or more.'],
  ['trigger order.ready --tamper time', 2, 'Allowed choices are body, signature.'],
  ['trigger order.ready --schedule service --tamper body', 2, '--schedule'],
  ['trigger order.ready --time-scale 10', 2, '--time-scale works only with --schedule'],
  ['trigger order.ready --time-scale -1', 2, 'Use a number above 0.'],
  ['trigger order.ready --secret-file nowhere', 4, 'hookbox cannot read the secret'],
  [header('hunter2'), 2, "--header must be 'Name: value'"],
  [header('a b: hunter2'), 2, "--header must be 'Name: value'"],
  [header('a: the\nhunter2'), 2, "--header must be 'Name: value'"],
  [header('content-length: 3'), 2, 'hookbox sets it from the body'],
  [header('@nowhere'), 4, 'hookbox cannot read the file of --header'],
  ['replay', 2, 'Select what to replay'],
  ['replay evt_0 --all', 2, 'Pass event ids, files or folders, or use filters, but not both.'],
  ['replay evt_0 --after 1', 2, 'Pass event ids, files or folders, or use filters, but not both.'],
  ['replay --all --skip 1', 2, '--skip works only with'],
  ['replay --since yesterday', 2, '--since "yesterday" must be a time'],
  ['replay --until 2026-02-30', 2, '--until "2026-02-30" must be a time'],
  ['replay --state done', 2, STATES],
  ['replay --all --rate 0', 2, 'Use a number above 0.'],
  ['replay --all --to http://192.0.2.1/', 2, 'Add --allow-remote to allow it.'],
  ['replay --all', 2, 'Set SIGNING_SECRET or pass --secret-file.', { SIGNING_SECRET: '' }],
  ['sign', 2, "missing required argument 'file'"],
  ['sign --secret x list.json', 2, 'unknown option'],
  ['sign nowhere.json', 4, 'hookbox cannot read nowhere.json'],
  ['sign - --secret-file nowhere', 4, 'hookbox cannot read the secret'],
  ['sign .', 2, 'error: . is a folder. Pass the path of a file.\n'],
  ['sign - --secret-file .', 2, 'error: . is a folder. Pass the path of a file.\n'],
  ['sign list.json', 2, 'Set SIGNING_SECRET or pass --secret-file.', { SIGNING_SECRET: '' }],
  ['schema order.crated', 2, '"order.crated" is not an event type. Did you mean order.created?\n'],
  ['schema zzz', 2, '"zzz" is not an event type. The types are: order.created, '],
  ['schema order.created order.ready', 2, 'too many arguments'],
  ['schema --yaml', 2, 'unknown option'],
  ['schema --env-file nowhere', 4, 'hookbox cannot read the file of --env-file'],
  ['schema --env-file=.', 2, '. is a folder. Pass the path of a file.'],
  ['schema --env-file', 2, '--env-file needs the path of a file.'],
  ['fixtures', 2, 'capture [options] <event-id>'],
  ['fixtures lst', 2, "unknown command 'lst'"],
  ['fixtures capture', 2, "missing required argument 'event-id'"],
  ['fixtures capture evt_1 --key x', 2, 'unknown option'],
  ['fixtures capture evt_nobody', 4, ' has no event "evt_nobody" of the endpoint "default".'],
  ['fixtures capture evt_\u001b[2J', 4, 'has no event "evt_\\u001b[2J"'],
  ['fixtures capture evt_0 --out /nowhere/at/all.json', 1, 'hookbox cannot write /nowhere/at/all.json'],
  ['completion tcsh', 2, 'Allowed choices are bash, zsh, fish.'],
  ['migrate', 2, 'Pass the Postgres URL with --db or HOOKBOX_DB'],
  ['migrate --db shop.db', 2, 'error: hookbox migrate needs an inbox in Postgres, but --db names a file.\n'],
  ['migrate --db mysql://ada:hunter2@db/shop', 2, 'that begins with postgres:// or postgresql://'],
  ['migrate --print --schema ', 2, 'schema must be a name'],
  ['migrate --print --json', 2, 'Remove --json'],
  ['ui --host 0.0.0.0 --port 0', 2, 'needs a login: set HOOKBOX_UI_PASSWORD'],
  ['ui --db none.db', 4, 'The file none.db does not exist.'],
  ['ui --password-file none', 4, 'hookbox cannot read the password'],
  ['ui --mask data..email --port 0', 2, 'mask: "data..email" is not a path. Join names with dots'],
  ['doctor', 2, "'PORT' is invalid. Use a whole number from 0 to 65535.", { PORT: 'http' }],
  ['events import events.ndjson', 2, NO_PATH, { HOOKBOX_DB: '' }],
  ['events import events.ndjson --db=', 2, NO_PATH],
  ['events import events.ndjson --env-file unset.env', 2, NO_PATH],
  ['migrate --print', 2, NO_PATH, { HOOKBOX_DB: '' }],
  ['doctor --port 0', 2, NO_PATH, { HOOKBOX_DB: '' }],
  ['events import events.ndjson --db file:x.db', 2, 'The path starts with file:'],
  ['events import events.ndjson', 2, 'The path starts with sqlite:', { HOOKBOX_DB: 'sqlite:x.db' }],
  ['serve --port 0', 2, 'The path contains a variable', { HOOKBOX_DB: '${DB}' }],
  ['doctor --port 0', 2, 'A part of the path is “undefined” or “null”', { HOOKBOX_DB: 'undefined' }],
  ['events import events.ndjson', 2, 'The path starts or ends with a space', { HOOKBOX_DB: 'shop.db\r' }],
  ['sandbox --port 0 --db null', 2, 'A part of the path is “undefined” or “null”'],
  ['events export --out ${OUT}', 2, 'The path contains a variable', { HOOKBOX_DB: '../shop.db' }],
  ['events list --db shop.db', 4, 'The file shop.db does not exist.', { HOOKBOX_DB: '' }],
];

const cwd = suiteFolder();
beforeAll(async () => {
  const files = { 'events.ndjson': '', 'unset.env': 'HOOKBOX_DB=\n', 'list.json': '[1]' };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  await using inbox = sqliteInbox(join(cwd, 'hookbox.db'));
  await store(inbox, orderEvent('evt_0'));
});

const cases = REFUSALS.map(([line, code, message, env = {}]) => [line, code, message, env] as const);

it.each(cases)('hookbox %s is refused with %i: %s', async (line, code, message, env) => {
  const server = await recordingServer();
  const args = typeof line === 'string' ? line.split(' ') : line;
  const files = readdirSync(cwd);
  const ran = await runHookbox(args, { cwd, env: { HOOKBOX_URL: server.url, ...env } });
  expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  expect(ran.stderr).not.toContain('hunter2');
  expect(server.requests).toEqual([]);
  expect(readdirSync(cwd)).toEqual(files);
});
