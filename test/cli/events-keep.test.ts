// @module-tag long
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { linesOf } from '../../src/ops/import-lines.ts';
import { auditLines, listEvents } from '../../src/ops/index.ts';
import { claimed, key } from '../ops/events-in-states.ts';
import { runHookbox, type Ran, type RunOptions } from './run-hookbox.ts';
import { running } from './serving.ts';
import { events, EXACT, folderOfDead, inboxOf, stockedFolder, STOCKED } from './stocked-inbox.ts';

async function prunedIn(folder: string): Promise<readonly string[]> {
  const { events } = await inboxOf(folder, (inbox) => listEvents(inbox));
  return events.filter(({ pruned }) => pruned).map(({ id }) => id);
}

async function newestAct(folder: string) {
  const { lines } = await inboxOf(folder, (inbox) => auditLines(inbox));
  const [line] = lines;
  return line && { act: line.act, actor: line.actor, via: line.via, reason: line.reason, counts: line.counts };
}

const BY = ['--actor', 'ada', '--reason', 'tidying up'];
const BY_ADA = { actor: 'ada', via: 'cli', reason: 'tidying up' };

describe('hookbox events prune', () => {
  it('counts on a dry run, asks, and takes only what is meant', async () => {
    const cwd = await stockedFolder();
    const meant = ['prune', '--older-than', '30d', '--state', 'processed', '--state', 'dead', ...BY];
    const [dry, unasked, ageless] = await Promise.all([
      events(cwd, ...meant, '--dry-run', '--json'),
      events(cwd, ...meant),
      events(cwd, 'prune', '--yes'),
    ]);
    expect(dry).toMatchObject({
      code: 0,
      stdout: '{\n  "pruned": 5,\n  "audit": null\n}\n',
      stderr: expect.stringMatching(/^Would prune 5 events \(processed, dead before \d{4}-\S+Z\)\.\n$/),
    });
    expect(unasked).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Add --yes') });
    expect(ageless).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--older-than <age>') });
    expect(await prunedIn(cwd)).toEqual(['evt_pruned']);

    const ran = await events(cwd, ...meant, '--yes');
    expect(ran).toMatchObject({ code: 0, stdout: '', stderr: expect.stringMatching(/\n5 events pruned\.\n$/) });
    expect(await prunedIn(cwd)).toEqual([
      'evt_invalid',
      'evt_hostile',
      'evt_dead_2',
      'evt_dead_1',
      'evt_done',
      'evt_pruned',
    ]);
    expect(await newestAct(cwd)).toEqual({ act: 'prune', ...BY_ADA, counts: { pruned: 5 } });
  });
});

describe('hookbox events erase', () => {
  it('counts on a dry run, and removes what is kept', async () => {
    const cwd = await stockedFolder();
    const [dry, none] = await Promise.all([
      events(cwd, 'erase', 'ord_42', '--dry-run'),
      events(cwd, 'erase', 'ord_no', '--yes'),
    ]);
    expect(dry).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Would erase the name of the entity, and the bodies, conflicting bodies and errors of 1 event.\n',
    });
    expect(none).toMatchObject({ code: 4, stderr: 'hookbox.db has no event about "ord_no".\n' });
    const ran = await events(cwd, 'erase', 'ord_42', '--yes', '--json', ...BY);
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject({ erased: 1, inProcessing: 0, audit: expect.any(Number) });
    expect(await prunedIn(cwd)).toContain('evt_dead_1');
    expect(await newestAct(cwd)).toMatchObject({ act: 'erase', ...BY_ADA });
  });

  it('says what is left in the log because somebody reads, until it could be emptied', async () => {
    const cwd = await stockedFolder();
    const database = new Database(join(cwd, 'hookbox.db'));
    onTestFinished(() => void database.close());
    const reading = database.prepare('SELECT id FROM hookbox_events').iterate();
    reading.next();
    const inLog = expect.stringContaining(
      'The write-ahead log still holds the erased data, because another process is reading the log.',
    );
    expect(await events(cwd, 'erase', 'ord_42', '--yes')).toMatchObject({ code: 0, stderr: inLog });
    expect(await events(cwd, 'erase', 'ord_42', '--yes')).toMatchObject({ code: 4, stderr: inLog });
    reading.return?.();
    const nothing = 'hookbox.db has no event about "ord_42".\n';
    expect(await events(cwd, 'erase', 'ord_42', '--yes')).toMatchObject({ code: 4, stderr: nothing });
  });

  it('says what is left because its handler runs', async () => {
    const cwd = await stockedFolder();
    await inboxOf(cwd, (inbox) => claimed(inbox, key('evt_new'), Date.now()));
    expect(await events(cwd, 'erase', 'evt_new', '--yes')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(
        '1 event is being processed and was not erased. Run erase again when its handler has finished.',
      ),
    });
  });
});

describe('hookbox events erase of very many', () => {
  it('stops on Ctrl-C, says how to go on, and goes on with the rest', async () => {
    const cwd = await folderOfDead(3_000, { order: 'ord_1' });
    const erase = running(['events', 'erase', 'ord_1', '--yes', '--json'], { cwd });
    await erase.note('errors of 3,000 events.');
    const stopped = await erase.stop('SIGINT');
    expect(stopped).toMatchObject({
      code: 130,
      stderr: expect.stringMatching(
        /\nStopping after .*\n[\d,]+ events? erased\. To continue, run the same command again\.$/,
      ),
    });
    const { erased } = JSON.parse(stopped.stdout) as { erased: number };
    expect(erased).toBeLessThan(3_000);
    const rest = await events(cwd, 'erase', 'ord_1', '--yes', '--json');
    expect([rest.code, JSON.parse(rest.stdout)]).toMatchObject([0, { erased: 3_000 - erased }]);
  });
});

describe('hookbox events export and import', () => {
  it('bring an inbox to another place as it is', async () => {
    const cwd = await stockedFolder();
    const printed = await events(cwd, 'export', ...BY);
    const saved = await events(cwd, 'export', '--out', 'all.ndjson');
    const some = await events(cwd, 'export', '--state', 'dead', '--out', 'dead.ndjson');
    expect(printed).toMatchObject({ code: 0, stderr: '10 events exported\n' });
    expect(saved).toEqual({ code: 0, stdout: '', stderr: '10 events exported to all.ndjson\n' });
    expect(some).toEqual({ code: 0, stdout: '', stderr: '4 events exported to dead.ndjson\n' });
    expect(readdirSync(cwd).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(printed.stdout.split('\n').length).toBe(readFileSync(join(cwd, 'all.ndjson'), 'utf8').split('\n').length);

    const [dry, piped] = await Promise.all([
      events(cwd, 'import', 'all.ndjson', '--dry-run', '--json'),
      imported(printed.stdout, { cwd }),
    ]);
    expect(JSON.parse(dry.stdout)).toEqual({ imported: 0, known: 10, different: 0, audit: null });
    expect(piped).toEqual({
      code: 0,
      stdout: '',
      stderr:
        'note: new.db is a new inbox.\n10 events imported, 0 already here, 0 already here with a different body\n' +
        'The imported events are stored as not verified. If this is an unchanged export of your own, you can import it into a new inbox with --trusted, which keeps everything that the export records.\n',
    });
    const moved = await events(cwd, 'import', 'all.ndjson', '--db', 'moved.db', '--trusted');
    expect(moved).toMatchObject({ code: 0, stderr: expect.stringMatching(/a different body\n$/) });
    const verifiedIn = async (db?: string): Promise<readonly boolean[]> => {
      const { events: listed } = await inboxOf(cwd, (inbox) => listEvents(inbox), db);
      return listed.map(({ verified }) => verified);
    };
    expect(await verifiedIn('moved.db')).toEqual(await verifiedIn());
    expect(await verifiedIn('new.db')).toEqual(Array.from({ length: 10 }, () => false));
    const original = await inboxOf(cwd, (inbox) => listEvents(inbox));
    const copy = await inboxOf(cwd, (inbox) => listEvents(inbox), 'new.db');
    expect(copy.events.map(({ id, state, attempts }) => [id, state, attempts])).toEqual(
      original.events.map(({ id, state, attempts }) => [id, state, attempts]),
    );
    const exact = await inboxOf(cwd, (inbox) => inbox.get(key('evt_exact')), 'new.db');
    expect(Buffer.from(exact?.body ?? []).toString()).toBe(EXACT);
    expect(STOCKED).toHaveLength(10);
  });

  it.skipIf(process.platform === 'win32')('an export is for its owner alone', async () => {
    const cwd = await stockedFolder();
    chmodSync(join(cwd, 'hookbox.db'), 0o644);
    writeFileSync(join(cwd, 'there.ndjson'), '', { mode: 0o644 });
    await Promise.all([
      events(cwd, 'export', '--out', 'new.ndjson'),
      events(cwd, 'export', '--out', 'there.ndjson', '--force'),
    ]);
    const modes = ['new.ndjson', 'there.ndjson'].map((name) => statSync(join(cwd, name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600]);
  });

  it.skipIf(process.platform === 'win32')(
    'an export takes the place of a file, and of no socket or device',
    async () => {
      const cwd = await stockedFolder();
      const server = createServer().listen(join(cwd, 'socket'));
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      expect(await events(cwd, 'export', '--out', 'socket', '--force')).toMatchObject({
        code: 2,
        stderr: 'error: socket is not a regular file. Remove --out and redirect standard output to that path.\n',
      });
      expect(statSync(join(cwd, 'socket')).isSocket()).toBe(true);
    },
  );

  it('say where another process has the file open, whose next events are not among them', async () => {
    const cwd = await stockedFolder();
    const other = new Database(join(cwd, 'hookbox.db'));
    other.prepare('SELECT count(*) FROM hookbox_events').get();
    const said =
      'note: another process has hookbox.db open. This export does not include events that the other process stores from now on.\n';
    expect((await events(cwd, 'export', '--out', 'a.ndjson')).stderr).toBe(`10 events exported to a.ndjson\n${said}`);
    other.close();
    expect((await events(cwd, 'export', '--out', 'b.ndjson')).stderr).toBe('10 events exported to b.ndjson\n');
  });

  it('write over nothing, and take in nothing that is no export', async () => {
    const cwd = await stockedFolder();
    writeFileSync(join(cwd, 'there.ndjson'), 'precious');
    writeFileSync(join(cwd, 'odd.ndjson'), '{"some":"JSON"}\n');
    const [exported, odd, missing, folder] = await Promise.all([
      events(cwd, 'export', '--out', 'there.ndjson'),
      events(cwd, 'import', 'odd.ndjson'),
      events(cwd, 'import', 'no.ndjson'),
      events(cwd, 'import', '.'),
    ]);
    expect(exported).toMatchObject({ code: 1, stderr: expect.stringContaining('there.ndjson already exists.') });
    expect(readFileSync(join(cwd, 'there.ndjson'), 'utf8')).toBe('precious');
    expect(odd).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^error: odd\.ndjson: .*Line 1 /) });
    expect(missing).toMatchObject({ code: 4, stderr: 'error: The file no.ndjson does not exist.\n' });
    expect(folder).toMatchObject({ code: 2, stderr: 'error: . is a folder. Pass the path of a file.\n' });
  });

  it('say that an export which was cut is not complete, and what came is there', async () => {
    const cwd = await stockedFolder();
    const { stdout } = await events(cwd, 'export');
    const cut = await imported(stdout.split('\n').slice(0, 6).join('\n'), { cwd });
    expect(cut).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('error: -: ') });
    expect(existsSync(join(cwd, 'new.db'))).toBe(true);
    const whole = await imported(stdout, { cwd });
    expect(whole).toMatchObject({ code: 0, stderr: expect.stringContaining(' already here, 0 already') });
  });
});

it('hookbox events export leaves the older one as it was when it is stopped, and says so', async () => {
  const cwd = await folderOfDead(10_000);
  writeFileSync(join(cwd, 'there.ndjson'), 'precious');

  const run = running(['events', 'export', '--out', 'there.ndjson', '--force'], { cwd });
  await vi.waitFor(() => expect(readdirSync(cwd)).toContainEqual(expect.stringMatching(/\.tmp$/)), { interval: 1 });
  expect(await run.stop('SIGINT')).toMatchObject({
    code: 130,
    stderr: expect.stringMatching(/\nStopped\. there\.ndjson did not change\.$/),
  });
  expect(readFileSync(join(cwd, 'there.ndjson'), 'utf8')).toBe('precious');
  expect(readdirSync(cwd).filter((name) => name.endsWith('.tmp'))).toEqual([]);
});

it('hookbox events import pauses what was paused where the export comes from, and says so', async () => {
  const cwd = await stockedFolder();
  await events(cwd, 'pause', 'order.created', '--reason', 'the till prints twice');
  const { stdout } = await events(cwd, 'export');
  const moved = await runHookbox(['events', 'import', '-', '--db', 'new.db', '--trusted'], { cwd, input: stdout });
  expect(moved.stderr).toContain('\norder.created at default is paused, because it was paused in the export.\n');
  const paused = await events(cwd, 'pause', '--db', 'new.db');
  expect(paused.stdout).toMatch(/order\.created.*the till prints twice/);
});

function imported(input: string, options: RunOptions): Promise<Ran> {
  return runHookbox(['events', 'import', '-', '--db', 'new.db'], { ...options, input });
}

it('hookbox events import ends with Ctrl-C although its input goes on, and what came is there', async () => {
  const cwd = await stockedFolder();
  const { stdout } = await events(cwd, 'export');
  const run = running(['events', 'import', '-', '--db', 'new.db'], { cwd });
  run.child.stdin?.write(stdout.split('\n').slice(0, 6).join('\n'));
  await run.note('note: new.db is a new inbox.');
  expect(await run.stop('SIGINT')).toMatchObject({
    code: 130,
    stdout: '',
    stderr: expect.stringContaining('Stopped. To continue, import the same export again'),
  });
  expect(await imported(stdout, { cwd })).toMatchObject({ code: 0 });
});

describe('hookbox events backup', () => {
  it('copies the inbox into a new file', async () => {
    const cwd = await stockedFolder();
    const ran = await events(cwd, 'backup', 'copy.db', '--json', ...BY);
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject({ bytes: readFileSync(join(cwd, 'copy.db')).byteLength });
    expect(ran.stderr).toMatch(
      /^Copying hookbox\.db to copy\.db\. The inbox can stay in use\.\nWrote \S+ KiB to copy\.db\.\n$/,
    );
    const { events: copied } = await inboxOf(cwd, (inbox) => listEvents(inbox), 'copy.db');
    expect(copied.map(({ id }) => id)).toEqual(STOCKED.toReversed());
    expect(await newestAct(cwd)).toMatchObject({ act: 'backup', ...BY_ADA });
    expect(await events(cwd, 'backup', 'copy.db')).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('copy.db'),
    });
    expect(readFileSync(join(cwd, 'copy.db')).byteLength).toBe((JSON.parse(ran.stdout) as { bytes: number }).bytes);
  });
});

describe('the lines of a stream', () => {
  it('are given up where one is longer than any can be', async () => {
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield megabyte;
    }
    await expect(linesOf(endless()).next()).rejects.toThrow('A line is too long to come from a hookbox');
  });

  async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
    for (const text of texts) yield Buffer.from(text, 'latin1');
  }

  it('are cut at line feeds alone, wherever the chunks are cut', async () => {
    const text = Buffer.from('one\r\n{"a":"\u2028\u2029\u0085é"}\n\nlast').toString('latin1');
    const whole = ['one\r', '{"a":"\u2028\u2029\u0085é"}', '', 'last'];
    for (let at = 0; at <= text.length; at += 1) {
      const read = [];
      for await (const line of linesOf(chunks(text.slice(0, at), text.slice(at)))) read.push(line);
      expect(read).toEqual(whole);
    }
  });

  it.each([
    ['UTF-8 with a mark', Buffer.from('\ufeff{"first":"é"}\r\n{"last":"🎁"}\n')],
    ['UTF-16, as PowerShell writes it', Buffer.from('\ufeff{"first":"é"}\r\n{"last":"🎁"}\n', 'utf16le')],
    ['UTF-16 of the other order', Buffer.from('\ufeff{"first":"é"}\r\n{"last":"🎁"}\n', 'utf16le').swap16()],
    ['UTF-16 without a mark', Buffer.from('{"first":"é"}\r\n{"last":"🎁"}\n', 'utf16le')],
    ['UTF-16 of the other order without a mark', Buffer.from('{"first":"é"}\r\n{"last":"🎁"}\n', 'utf16le').swap16()],
  ])('are read in %s, wherever the chunks are cut', async (_, bytes) => {
    const text = bytes.toString('latin1');
    for (let at = 0; at <= text.length; at += 1) {
      const read = [];
      for await (const line of linesOf(chunks(text.slice(0, at), text.slice(at)))) read.push(line);
      expect(read).toEqual(['{"first":"é"}\r', '{"last":"🎁"}']);
    }
  });

  it.each(['', '{', '{}'])('are those of a text that is shorter than any mark: %j', async (text) => {
    const read = [];
    for await (const line of linesOf(chunks(text))) read.push(line);
    expect(read.join('')).toBe(text);
  });

  it.each([
    ['gzip', gzipSync('{}\n')],
    ['zip', Buffer.from('PK\u0003\u0004 and so on')],
    ['bzip2', Buffer.from('BZh91AY')],
    ['xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])],
    ['zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0])],
  ])('are not looked for in what is compressed: %s', async (name, bytes) => {
    await expect(linesOf(chunks(bytes.toString('latin1'))).next()).rejects.toThrow(
      new RegExp(`^The file is compressed \\(${name}\\)\\. Decompress it first: \\w+\\.`),
    );
  });
});

it('hookbox events import reads an export that PowerShell has written, and names what is compressed', async () => {
  const cwd = await stockedFolder();
  const { stdout } = await events(cwd, 'export');
  writeFileSync(join(cwd, 'shell.ndjson'), Buffer.from(`\ufeff${stdout.replaceAll('\n', '\r\n')}`, 'utf16le'));
  writeFileSync(join(cwd, 'small.ndjson.gz'), gzipSync(stdout));
  const read = await events(cwd, 'import', 'shell.ndjson', '--db', 'new.db');
  expect(read).toMatchObject({ code: 0, stderr: expect.stringContaining(`${STOCKED.length} events imported`) });
  expect(await events(cwd, 'import', 'small.ndjson.gz')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('small.ndjson.gz: The file is compressed (gzip). Decompress it first: gunzip.'),
  });
});

it('hookbox events export marks its csv as UTF-8 for spreadsheets, also when it is printed', async () => {
  const cwd = await stockedFolder();
  const printed = await events(cwd, 'export', '--format', 'csv');
  expect(printed.stdout).toMatch(/^\ufeffreceived,endpoint,id,/);
  await events(cwd, 'export', '--format', 'csv', '--out', 'all.csv');
  expect(readFileSync(join(cwd, 'all.csv'), 'utf8')).toMatch(/^\ufeffreceived,endpoint,id,/);
});
