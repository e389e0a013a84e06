import { isBuiltin } from 'node:module';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { expectConsole } from '../console.ts';
import { requirePart } from '../../helpers/parts.ts';
import { expectForgeryRefused, send, signedOrder } from '../deliveries.ts';
import { SECRET } from '../secret.ts';
import { changed, example } from '../page.ts';
import type { Project } from '../project.ts';

/** miniflare runs Workers on workerd. */
interface MiniflareModule {
  readonly Miniflare: new (options: object) => { readonly ready: Promise<URL>; dispose(): Promise<void> };
}

interface WranglerConfig {
  readonly compatibility_date: string;
  readonly compatibility_flags: readonly string[];
  readonly queues?: { readonly producers: readonly { readonly binding: string; readonly queue: string }[] };
  readonly hyperdrive?: readonly { readonly binding: string }[];
}

export interface RunningWorker extends AsyncDisposable {
  readonly url: string;
  output(): string;
}

const CONSUMER = `export default {
  async queue(batch) {
    for (const { body } of batch.messages) console.log('took', JSON.stringify(body));
  },
};`;

export function workers(project: () => Project): void {
  it('hands on what is authentic, each time, and refuses what is forged', async () => {
    await using worker = await startWorker(project(), 'worker', example('cloudflare/worker.mjs'));
    const order = signedOrder();
    const ok = { status: 200, text: JSON.stringify({ received: true, id: order.id }) };
    expect(await send(worker.url, order)).toMatchObject(ok);
    expect(await send(worker.url, order)).toMatchObject(ok);
    await expectForgeryRefused(worker.url);
    expect(await send(worker.url, signedOrder(60_000))).toMatchObject({ status: 413 });
    await expectConsole(worker).toContain('reason=signature-mismatch');

    const message = JSON.stringify({ body: order.body.toString(), signature: order.headers['X-Signature'] });
    for (let waited = 0; taken(worker).length < 2 && waited < 10_000; waited += 20) await delay(20);
    expect(taken(worker)).toEqual([message, message]);
  });

  it('says at once what to change where the body was read before', async () => {
    const reads =
      'fetch: async (request, ...rest) => {\n await request.text();\n return receive(request, ...rest);\n },\n';
    const code = changed(
      example('cloudflare/worker.mjs'),
      ['export default {\n  fetch: webhookVerifier(', 'const receive = webhookVerifier('],
      ['  }),\n};', `  });\nexport default {\n  ${reads}};`],
    );
    await using worker = await startWorker(project(), 'read-before', code);
    const answer = await send(worker.url, signedOrder());
    expect(answer).toMatchObject({ status: 500, text: expect.stringContaining('BODY_CONSUMED') });
    await expectConsole(worker).toContain('Mount the webhook route before body parsers.');
  });

  it('answers 500 when the Queue throws', async () => {
    const code = changed(example('cloudflare/worker.mjs'), ['maxBodyBytes: 60_000', 'maxBodyBytes: 1_000_000']);
    await using worker = await startWorker(project(), 'too-large', code);
    expect(await send(worker.url, signedOrder(200_000))).toMatchObject({ status: 500 });
    await expectConsole(worker).toContain('reason=not-passed-on,');
    expect(await send(worker.url, signedOrder())).toMatchObject({ status: 200 });
  });

  it('answers 503 when the Queue is too slow, and hands on all the same', async () => {
    const code = changed(
      example('cloudflare/worker.mjs'),
      ['maxBodyBytes: 60_000', 'deadlineMs: 200'],
      ['await env.EVENTS', 'await new Promise((done) => setTimeout(done, 600));\n    await env.EVENTS'],
    );
    await using worker = await startWorker(project(), 'slow', code);
    expect(await send(worker.url, signedOrder())).toMatchObject({ status: 503 });
    await expectConsole(worker).toContain('reason=not-passed-on-in-time');
    await expect.poll(() => taken(worker), { timeout: 10_000 }).toHaveLength(1);
  });

  it.each(['memory', 'sqlite'])('the inbox of hookbox/%s refuses to start', async (kind) => {
    const code = `import { ${kind}Inbox } from 'hookbox/${kind}';
      export default {
        fetch() {
          try {
            ${kind}Inbox(${kind === 'sqlite' ? "'hookbox.db'" : ''});
          } catch (failure) {
            return new Response(failure.message, { status: 500 });
          }
          return new Response('open');
        },
      };`;
    await using worker = await startWorker(project(), `inbox-${kind}`, code);
    const answer = await send(worker.url, signedOrder());
    expect(answer.text).toContain(`${kind}Inbox would lose events on Cloudflare Workers`);
  });
}

function taken(worker: RunningWorker): string[] {
  return [...worker.output().matchAll(/^took (.+)$/gm)].map(([, message = '']) => message);
}

/** Bundled as by wrangler, with the page's configuration. */
export async function startWorker(
  project: Project,
  name: string,
  code: string,
  { config: file = 'cloudflare/wrangler.jsonc', hyperdrive = '' } = {},
): Promise<RunningWorker> {
  const config = wranglerConfig(file);
  const source = project.write(`cloudflare/${name}.mjs`, code);

  let output = '';
  const note = (stream: Readable): void => void stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const runtime = { compatibilityDate: config.compatibility_date, compatibilityFlags: config.compatibility_flags };
  const queues = config.queues?.producers.map(({ binding, queue }) => [binding, queue] as const) ?? [];
  const { Miniflare } = requirePart('miniflare') as MiniflareModule;
  const miniflare = new Miniflare({
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => [stdout, stderr].forEach(note),
    workers: [
      {
        ...runtime,
        name: 'webhooks',
        modules: [{ type: 'ESModule', path: 'worker.mjs', contents: await bundled(source) }],
        bindings: { SIGNING_SECRET: SECRET },
        queueProducers: Object.fromEntries(queues),
        hyperdrives: Object.fromEntries((config.hyperdrive ?? []).map(({ binding }) => [binding, hyperdrive])),
      },
      {
        ...runtime,
        name: 'consumer',
        modules: [{ type: 'ESModule', path: 'consumer.mjs', contents: CONSUMER }],
        queueConsumers: Object.fromEntries(queues.map(([, queue]) => [queue, { maxBatchTimeout: 0.05 }])),
      },
    ],
  });
  const url = await miniflare.ready;
  return { url: url.href, output: () => output, [Symbol.asyncDispose]: () => miniflare.dispose() };
}

interface Esbuild {
  readonly build: (options: object) => Promise<{ readonly outputFiles: readonly { readonly text: string }[] }>;
}

interface PluginBuild {
  onResolve(of: { filter: RegExp }, resolve: (asked: { path: string; kind: string }) => object | null): void;
  onLoad(of: { filter: RegExp; namespace: string }, load: (asked: { path: string }) => object): void;
}

/** As wrangler does, for packages that require a module of Node. */
const NODE_MODULES = {
  name: 'modules-of-node',
  setup(build: PluginBuild) {
    build.onResolve({ filter: /./ }, ({ path, kind }) => {
      if (!isBuiltin(path)) return null;
      const name = path.startsWith('node:') ? path : `node:${path}`;
      return kind === 'require-call' ? { path: name, namespace: 'required' } : { path: name, external: true };
    });
    build.onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
      contents: `import all from '${path}'; module.exports = all;`,
    }));
  },
};

async function bundled(source: string): Promise<string> {
  const { build } = requirePart('esbuild') as Esbuild;
  const asked = { entryPoints: [source], bundle: true, write: false, format: 'esm', logLevel: 'silent' };
  const asWrangler = { conditions: ['workerd', 'worker', 'browser'], external: ['cloudflare:*'], target: 'es2024' };
  const { outputFiles } = await build({ ...asked, ...asWrangler, plugins: [NODE_MODULES] });
  return outputFiles[0]?.text ?? '';
}

/** Without comments, and commas before a brace. */
function wranglerConfig(file: string): WranglerConfig {
  return JSON.parse(example(file).replaceAll(/,(?=\s*[}\]])/g, '')) as WranglerConfig;
}
