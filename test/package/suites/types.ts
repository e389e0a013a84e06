import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OLDEST_TYPESCRIPT, ROOT, type Installed } from '../installed.ts';
import { run } from '../run.ts';

/** How a project's sources are compiled. */
interface Consumer {
  readonly name: string;
  readonly type: 'module' | 'commonjs';
  readonly flags: readonly string[];
}

// The first two without the types of browsers, the last with them.
const NODENEXT = ['--module', 'nodenext', '--lib', 'es2023'];
const ES_MODULES: Consumer = { name: 'ES modules of Node', type: 'module', flags: NODENEXT };
const COMMON_JS: Consumer = { name: 'CommonJS of Node', type: 'commonjs', flags: NODENEXT };
const BUNDLER: Consumer = {
  name: 'a bundler',
  type: 'module',
  flags: ['--module', 'esnext', '--moduleResolution', 'bundler'],
};

const TSC = 'node_modules/typescript/bin/tsc';
/** One thread takes two thirds of what several take together; other tests have the other core. */
const HERE = [join(ROOT, TSC), '--singleThreaded'];

type ProjectName = 'plain' | 'frameworks';

/** Each pair of a consumer, a project and a setting once; a compiler takes two seconds. */
const CASES: readonly { readonly consumer: Consumer; readonly project: ProjectName; readonly exact: string }[] = [
  { consumer: ES_MODULES, project: 'plain', exact: 'true' },
  { consumer: ES_MODULES, project: 'frameworks', exact: 'false' },
  { consumer: COMMON_JS, project: 'plain', exact: 'false' },
  { consumer: COMMON_JS, project: 'frameworks', exact: 'true' },
  { consumer: BUNDLER, project: 'plain', exact: 'false' },
  { consumer: BUNDLER, project: 'frameworks', exact: 'true' },
];

/** The types, as strict as a merchant's compiler can be, and without skipLibCheck. */
export function typesSuite(installed: () => Installed): void {
  const compile = async (
    compiler: readonly string[],
    project: ProjectName,
    { type, flags }: Consumer,
    exact: string,
  ) => {
    const { folder } = installed()[project];
    writeFileSync(join(folder, 'src/package.json'), JSON.stringify({ type }));
    const args = [...compiler, '-p', '.', ...flags, '--exactOptionalPropertyTypes', exact];
    const { code, stdout, stderr } = await run(process.execPath, args, folder);
    expect(`${stdout}${stderr}`).toBe('');
    expect(code).toBe(0);
  };

  it.each(CASES)(
    'fit $consumer.name, project $project, exactOptionalPropertyTypes $exact',
    ({ consumer, project, exact }) => compile(HERE, project, consumer, exact),
  );

  it('say which is the oldest TypeScript', () => {
    const page = readFileSync(join(installed().package, 'docs/typescript.md'), 'utf8');
    expect(page).toContain(`TypeScript ${OLDEST_TYPESCRIPT} or newer`);
  });

  // Ten times slower, so once, with all that its libraries declare.
  it('fit the oldest TypeScript', () =>
    compile(
      [join(installed().frameworks.folder, TSC)],
      'frameworks',
      { ...COMMON_JS, flags: ['--module', 'nodenext', '--lib', 'es2023,dom'] },
      'true',
    ));
}
