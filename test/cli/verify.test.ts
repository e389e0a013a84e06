import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../src/testing/fixtures.ts';
import { signBody } from '../../src/signing/signature.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, SECRET, type Ran } from './run-hookbox.ts';

const folder = suiteFolder();

function file(name: string, content: Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const body = fixture('order.created');
const signature = signBody(body, SECRET);

describe('hookbox verify', () => {
  it('says that a signature is valid', async () => {
    const ran = await runHookbox(['verify', file('body.json', body), '--signature', signature]);
    expect(ran).toEqual({ code: 0, stdout: 'valid\n', stderr: '' });
  });

  it('reads standard input for -', async () => {
    const ran = await runHookbox(['verify', '-', '--signature', signature, '--explain'], { input: body });
    expect(ran).toEqual({ code: 0, stdout: 'valid\n', stderr: '' });
  });

  it('remarks on a body of nothing', async () => {
    const ran = await runHookbox(['verify', '-', '--signature', signBody('', SECRET)]);
    expect(ran).toEqual({ code: 0, stdout: 'valid\n', stderr: 'note: the body is empty (0 bytes).\n' });
  });

  it.each([
    ['', 'empty-body: your body is empty: other code read it first'],
    ['[object Object]', 'not-the-body: your body is [object Object]: other code read it or converted it'],
  ])('with --explain says that something had the body before: %j', async (input, message) => {
    const ran = await runHookbox(['verify', '-', '--signature', signature, '--explain'], { input });
    expect(ran.code).toBe(1);
    expect(ran.stdout).toContain(message);
  });

  it('says that it is not, and how to hear why', async () => {
    const ran = await runHookbox(['verify', '-', '--signature', signature], { input: `${body.toString()}\n` });
    expect(ran).toEqual({ code: 1, stdout: 'not valid\n', stderr: 'Add --explain to find the cause.\n' });
  });

  it.each([
    [0, { valid: true }, body],
    [1, { valid: false }, fixture('order.ready')],
  ])('exits with %d and prints %j as JSON', async (code, verdict, input) => {
    const ran = await runHookbox(['verify', '-', '--signature', signature, '--json'], { input });
    expect(ran.code).toBe(code);
    expect(JSON.parse(ran.stdout)).toEqual(verdict);
  });

  it.each([
    ['no signature', ['-'], 2, "required option '--signature <hex>' not specified"],
    ['an empty signature', ['-', '--signature', ''], 2, '--signature is empty.'],
    ['a file that is not there', ['nowhere.json', '--signature', signature], 4, 'hookbox cannot read nowhere.json'],
    [
      '--also without --explain',
      ['-', '--signature', signature, '--also', 'x'],
      2,
      '--also and --old-secret-file work only with --explain. Add --explain.',
    ],
    [
      'another file that is not there',
      ['-', '--signature', 'f'.repeat(64), '--explain', '--also', 'nowhere.json'],
      4,
      'hookbox cannot read nowhere.json',
    ],
    [
      'an old secret that is not there',
      ['-', '--signature', 'f'.repeat(64), '--explain', '--old-secret-file', 'nowhere'],
      4,
      'hookbox cannot read the secret',
    ],
  ])('given %s, prints nothing and ends with its code', async (_, args, code, message) => {
    const ran = await runHookbox(['verify', ...args]);
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(message);
  });
});

interface Made {
  readonly given?: Uint8Array | string;
  readonly claimed?: string;
  readonly env?: Record<string, string>;
  readonly args?: () => readonly string[];
}

const OLD = 'the secret before it';

/** One mistake of each kind of option; test/explain makes all others. */
const MISTAKES: readonly (readonly [cause: string, make: (bytes: Buffer) => Made])[] = [
  ['re-serialised', (bytes) => ({ given: JSON.stringify(JSON.parse(bytes.toString()), null, 2) })],
  ['prefix', (bytes) => ({ claimed: `sha256=${signBody(bytes, SECRET)}` })],
  ['secret-white-space', () => ({ env: { SIGNING_SECRET: `${SECRET}\n` } })],
  ['old-secret', (bytes) => ({ claimed: signBody(bytes, OLD), env: { SIGNING_SECRET_OLD: OLD } })],
  [
    'old-secret',
    (bytes) => ({ claimed: signBody(bytes, OLD), args: () => ['--old-secret-file', file('old.txt', `${OLD}\n`)] }),
  ],
  ['wrong-bytes', (bytes) => ({ claimed: signBody(bytes, 'quite another') })],
];

function explain({ given = body, claimed = signature, env = {}, args = () => [] }: Made, json = false): Promise<Ran> {
  const path = file('given.json', given);
  const options = ['--signature', claimed, '--explain', ...args(), ...(json ? ['--json'] : [])];
  return runHookbox(['verify', path, ...options], { env });
}

describe('hookbox verify --explain', () => {
  it.each(MISTAKES)('names %s', async (cause, make) => {
    const ran = await explain(make(body), true);
    expect(ran).toMatchObject({ code: 1, stderr: '' });
    const printed = JSON.parse(ran.stdout) as { explained: boolean; mistakes: readonly { readonly cause: string }[] };
    expect(printed).toMatchObject({ valid: false, explained: cause !== 'wrong-bytes' });
    expect(printed.mistakes.map((mistake) => mistake.cause)).toEqual([cause]);
    for (const secret of [SECRET, OLD, signature]) expect(ran.stdout).not.toContain(secret);
  });

  it('says what was found, what it means and what to do', async () => {
    const written = JSON.stringify(JSON.parse(body.toString()));
    const ran = await explain({ given: written, claimed: `sha256=${signature}` });
    expect(ran).toEqual({
      code: 1,
      stderr: '',
      stdout: [
        'not valid',
        '',
        'prefix: the signature begins with "sha256="',
        '  X-Signature must be 64 hexadecimal digits without a prefix; the prefix of this value is that of another service.',
        '  To do: remove the prefix.',
        '',
        're-serialised: the signature was computed over the same JSON, with two decimals in amounts (6.50 for 6.5)',
        '  One side parsed the JSON and wrote it again: the values are the same, but the bytes differ.',
        '  To do: sign and verify the raw bytes. Mount the webhook route before any body parser, and never hash JSON.stringify(request.body).',
        '',
      ].join('\n'),
    });
  });

  it('says what was tried and what was not when nothing fits', async () => {
    const { stdout } = await explain({ claimed: 'f'.repeat(64) });
    expect(stdout).toMatch(/^not valid\n\nwrong-bytes: no known mistake leads to this signature\n/);
    expect(stdout).toMatch(
      /\nTried: \d+ forms of the body, \d+ forms of the secret, \d+ ways to sign, and every pair of these: trailing-newline, /,
    );
    expect(stdout).toContain(
      '\nNot tried: a secret from before a rotation (--old-secret-file), other bodies (--also).\n' +
        'Your body has 403 bytes and the SHA-256 ',
    );
  });

  it('finds the body that a signature belongs to', async () => {
    const others = ['order.ready', 'order.completed'].map((name) => file(`${name}.json`, fixture(name)));
    const claimed = signBody(fixture('order.completed'), SECRET);
    const { code, stdout } = await explain({ claimed, args: () => ['--also', ...others] });
    expect(code).toBe(1);
    expect(stdout).toContain(`other-body: the signature belongs to ${others[1]}\n`);
  });

  it('says it when there is nothing to compare with', async () => {
    const { code, stdout } = await explain({ claimed: 'hello' });
    expect(code).toBe(1);
    expect(stdout).toContain('malformed-signature: the signature has 5 characters\n');
    expect(stdout).not.toContain('Tried');
  });
});
