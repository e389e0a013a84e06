import { existsSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { expect, it } from 'vitest';
import { Child } from '../helpers/child.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

it.each([
  ['a C library that is too old', "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found"],
  ['a binary of glibc on musl', 'Error loading shared library ld-linux-x86-64.so.2: No such file or directory'],
  ['a binary for another processor', 'better_sqlite3.node: invalid ELF header'],
])('%s: says that it is the binary, and what it needs', async (_, said) => {
  const file = scratchFile();
  await using child = new Child(new URL('unfit-binary.ts', import.meta.url), [file, said]);
  const refused = await child.line();
  expect(refused).toMatch(/^SQLITE_DOES_NOT_LOAD: better-sqlite3 does not load on /);
  for (const part of [said, `${platform()} ${arch()}`, 'x64 or arm64', 'glibc 2.34 or newer, or musl', 'npm ci']) {
    expect(refused).toContain(part);
  }
  expect(await child.line()).toContain('better-sqlite3 does not load on');
  expect(existsSync(file)).toBe(false);
});
