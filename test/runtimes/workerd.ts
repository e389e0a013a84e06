import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import type { RunningServer } from './remote-host.ts';
import { requirePart } from '../helpers/parts.ts';

interface Miniflare {
  readonly ready: Promise<URL>;
  dispose(): Promise<void>;
}

export async function startWorkerd(): Promise<RunningServer> {
  const { Miniflare } = requirePart('miniflare') as { Miniflare: new (options: object) => Miniflare };
  const { version } = requirePart('workerd/package.json') as { version: string };
  const miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.mjs', contents: await bundled() }],
    compatibilityDate: '2026-07-01',
    compatibilityFlags: ['nodejs_compat'],
    host: '127.0.0.1',
    port: 0,
  });
  const { origin } = await miniflare.ready;
  return { origin, runtime: `workerd ${version}`, [Symbol.asyncDispose]: () => miniflare.dispose() };
}

async function bundled(): Promise<string> {
  const input = fileURLToPath(new URL('servers/workerd.ts', import.meta.url));
  const bundle = await rolldown({ input, platform: 'neutral', external: /^node:/, logLevel: 'silent' });
  const { output } = await bundle.generate({ format: 'esm' });
  await bundle.close();
  return output[0].code;
}
