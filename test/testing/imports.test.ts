import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const entry = new URL('../../src/testing/index.ts', import.meta.url).href;

const PROBE = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      if (!/^(?:node:|file:|[./])/.test(specifier)) packages.add(specifier);
      return next(specifier, context);
    },
  });
  const { buildEvent, testInbox } = await import(${JSON.stringify(entry)});
  buildEvent('order.created');
  await testInbox().handledAll();
  console.log(JSON.stringify([...packages]));
`;

describe('hookbox/testing', () => {
  it('loads no package: no framework, no test runner, no database, and no schemas before something is parsed', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', PROBE], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    // The package finds its fixtures by its own name.
    expect((JSON.parse(stdout) as string[]).filter((name) => !name.startsWith('hookbox/'))).toEqual([]);
  });
});
