// @module-tag longest
/** webpack takes twice as long as Turbopack. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { part } from '../helpers/parts.ts';
import { example, inlineCode } from './page.ts';
import { createProject, ROOT, type Project } from './project.ts';
import { run } from './server.ts';
import { expectStandalone } from './suites/bundled.ts';

const ROUTES = ['lib/receiver.js', 'lib/page.js', 'app/webhooks/route.js', 'app/ops/[[...path]]/route.js'];
/** Without slow steps that do not matter here. */
const CONFIG = `export default {
  output: 'standalone',
  outputFileTracingRoot: ${JSON.stringify(ROOT)},
  ${inlineCode('serverExternalPackages')},
  experimental: { webpackBuildWorker: false },
  webpack: (config) => ({ ...config, optimization: { ...config.optimization, minimize: false } }),
};`;

let project: Project | undefined;
beforeAll(() => {
  project = createProject();
});
afterAll(() => project?.remove());

it('runs as `output: standalone` where nothing of its project is', async () => {
  if (project === undefined) throw new Error('the project is not there yet');
  for (const name of ROUTES) project.write(`nextjs/${name}`, example(`nextjs/${name}`));
  project.write('nextjs/next.config.js', CONFIG);
  project.write('nextjs/package.json', '{ "type": "module" }');
  project.write('nextjs/jsconfig.json', '{}');
  const built = join(project.folder, 'nextjs');
  const command = [process.execPath, part('next/dist/bin/next'), 'build', '--webpack'] as const;
  const ended = await run(command, built, { NEXT_TELEMETRY_DISABLED: '1' });
  expect(ended.code, ended.output).toBe(0);
  expect(ended.output).not.toContain('with warnings');
  await expectStandalone(project, built);
}, 240_000);
