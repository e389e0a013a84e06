import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventTypes } from '../../src/events/event-types.ts';
import { parseEvent } from '../../src/events/parse.ts';
import { fixture, fixturesFolder } from '../../src/testing/fixtures.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { deliverTo } from '../../src/testing/index.ts';
import { silent } from '../helpers/silent-logger.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { attempt, key } from '../ops/events-in-states.ts';
import { runHookbox, SECRET, startHookbox } from './run-hookbox.ts';

const edgeCases = readdirSync(join(fixturesFolder(), 'edge'))
  .filter((name) => name !== 'expectations.json')
  .map((name) => `edge/${name.replace('.json', '')}`);

interface Entry {
  readonly name: string;
  readonly expect: string;
  readonly what: string;
}

/** The exact bytes on standard output, which runHookbox makes a text of. */
async function bytesOf(args: readonly string[], cwd?: string): Promise<Buffer> {
  const child = startHookbox(args, cwd === undefined ? {} : { cwd });
  child.stdin?.end();
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout ?? []) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('hookbox fixtures list', () => {
  it('names every body of the package, and says what it is', async () => {
    const { code, stdout, stderr } = await runHookbox(['fixtures', 'list', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const entries = JSON.parse(stdout) as readonly Entry[];
    expect(entries.map(({ name }) => name).toSorted()).toEqual([...eventTypes, ...edgeCases].toSorted());
    for (const { name, expect: is, what } of entries) {
      expect(what).toMatch(/\w{3}/);
      const parsed = parseEvent(fixture(name));
      const verdict = parsed.ok ? (parsed.known ? 'known' : 'unknown') : parsed.id === null ? 'rejected' : 'invalid';
      expect([name, is]).toEqual([name, verdict]);
    }
  });

  it('prints a line for each', async () => {
    const { code, stdout } = await runHookbox(['fixtures', 'list']);
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2 + eventTypes.length + edgeCases.length);
    expect(lines[2]).toMatch(/^order\.created {2,}known {2,}a new order was placed$/);
  });
});

describe('hookbox fixtures show', () => {
  it.each(['order.confirmed', 'edge/rejected-invalid-utf8', 'edge/bom', 'edge/large-data'])(
    'prints the exact bytes of %s',
    async (name) => {
      expect((await bytesOf(['fixtures', 'show', name])).equals(fixture(name))).toBe(true);
    },
  );

  it('finds an edge case by its bare name', async () => {
    expect(await bytesOf(['fixtures', 'show', 'unknown-type'])).toEqual(fixture('edge/unknown-type'));
  });

  it.each(['order.crated', 'edge/expectations', '../package', 'signatures', 'scenarios/happy-day', ''])(
    'does not know %j',
    async (name) => {
      const ran = await runHookbox(['fixtures', 'show', name]);
      expect(ran).toMatchObject({ code: 4, stdout: '' });
      expect(ran.stderr).toBe(
        `error: The fixture ${JSON.stringify(name)} does not exist. To list all fixtures, run hookbox fixtures list.\n`,
      );
    },
  );
});

describe('hookbox fixtures capture', () => {
  const body = fixture('order.confirmed');
  const { id } = JSON.parse(body.toString()) as { id: string };
  const folder = suiteFolder();
  const db = join(folder, 'shop.db');

  beforeAll(async () => {
    const inbox = sqliteInbox(db);
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    const elsewhere = createReceiver({ secret: SECRET, inbox, logger: silent, endpoint: 'elsewhere' });
    for (const name of ['order.confirmed', 'edge/unicode-beyond-bmp', 'edge/invalid-field-type', 'edge/unknown-type']) {
      await deliverTo(receiver, fixture(name), { secret: SECRET });
    }
    await deliverTo(elsewhere, fixture('cart.abandoned'), { secret: SECRET });
    await deliverTo(receiver, fixture('order.ready'), { secret: SECRET });
    await makeTombstone(inbox);
    await Promise.all([receiver.close(), elsewhere.close()]);
    await inbox.close();
  });

  async function makeTombstone(inbox: ReturnType<typeof sqliteInbox>): Promise<void> {
    const { id: ready } = JSON.parse(fixture('order.ready').toString()) as { id: string };
    const now = Date.now();
    await attempt(inbox, key(ready), { outcome: 'processed' }, now);
    await inbox.prune('*', now + 1, 10);
  }

  it('prints the exact stored bytes', async () => {
    expect(await bytesOf(['fixtures', 'capture', id, '--db', db])).toEqual(body);
  });

  it('writes them to a file, and to no file that is there', async () => {
    const out = join(folder, 'captured.json');
    const ran = await runHookbox(['fixtures', 'capture', id, '--db', db, '--out', out]);
    expect(ran).toEqual({ code: 0, stdout: '', stderr: `Wrote ${body.byteLength} bytes to ${out}.\n` });
    expect(readFileSync(out)).toEqual(body);
    expect(statSync(out).mode & 0o777).toBe(0o600);

    writeFileSync(out, 'mine');
    chmodSync(out, 0o644);
    const again = await runHookbox(['fixtures', 'capture', id, '--db', db, '--out', out]);
    expect(again).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${out} already exists. Use a different --out, or add --force to replace the file.\n`,
    });
    expect(readFileSync(out, 'utf8')).toBe('mine');
    expect(await runHookbox(['fixtures', 'capture', id, '--db', db, '--out', out, '--force'])).toMatchObject({
      code: 0,
    });
    expect(readFileSync(out)).toEqual(body);
    expect(statSync(out).mode & 0o777).toBe(0o644);
  });

  it('finds the event of another endpoint', async () => {
    const cart = fixture('cart.abandoned');
    const { id: cartId } = JSON.parse(cart.toString()) as { id: string };
    expect(await bytesOf(['fixtures', 'capture', cartId, '--db', db, '--endpoint', 'elsewhere'])).toEqual(cart);
    expect(await runHookbox(['fixtures', 'capture', cartId, '--db', db])).toMatchObject({ code: 4, stdout: '' });
  });

  it('uses hookbox.db in this folder unless told otherwise', async () => {
    const ran = await runHookbox(['fixtures', 'capture', id], { cwd: folder });
    expect(ran).toEqual({
      code: 4,
      stdout: '',
      stderr: 'error: The file hookbox.db does not exist. Pass the path of the inbox with --db.\n',
    });
    expect(existsSync(join(folder, 'hookbox.db'))).toBe(false);
  });

  it('with --redact makes up its values, and says what that means for the signature', async () => {
    const ran = await runHookbox(['fixtures', 'capture', id, '--db', db, '--redact']);
    expect(ran).toMatchObject({
      code: 0,
      stderr: 'The body has invented values, so the old signature does not match. Sign the body with hookbox sign.\n',
    });
    expect(parseEvent(Buffer.from(ran.stdout))).toMatchObject({
      ok: true,
      known: true,
      event: { type: 'order.confirmed' },
    });
    expect(ran.stdout).toHaveLength(body.toString().length);
    for (const secretOfTheShop of ['T6kPz9WqV3mNc1Xr', 'Wn3xJ7dTq9PkE5Lg', 'sourdough', '30.05']) {
      expect(body.toString()).toContain(secretOfTheShop);
      expect(ran.stdout).not.toContain(secretOfTheShop);
    }
    expect(signBody(ran.stdout, SECRET)).not.toBe(signBody(body, SECRET));
  });

  it.each(['edge/invalid-field-type', 'edge/unknown-type', 'edge/unicode-beyond-bmp'])(
    'captures and redacts %s, too',
    async (name) => {
      const { id: odd } = JSON.parse(fixture(name).toString()) as { id: string };
      expect(await bytesOf(['fixtures', 'capture', odd, '--db', db])).toEqual(fixture(name));
      const { code, stdout } = await runHookbox(['fixtures', 'capture', odd, '--db', db, '--redact']);
      expect(code).toBe(0);
      expect(parseEvent(Buffer.from(stdout)).ok).toBe(parseEvent(fixture(name)).ok);
    },
  );

  it('says when nothing but a tombstone is left', async () => {
    const { id: ready } = JSON.parse(fixture('order.ready').toString()) as { id: string };
    expect(await runHookbox(['fixtures', 'capture', ready, '--db', db])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: "${ready}" was pruned. The inbox still has its id, but not its body.\n`,
    });
  });
});
