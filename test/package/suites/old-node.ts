import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Installed } from '../installed.ts';
import { oldNode } from '../nodes.ts';
import { run } from '../run.ts';

const PRETEND = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`;

const ONE_LINE = /^(?:InboxOpenError: )?hookbox needs Node 22\.14 or newer; this is Node \d+\.\d+\.\d+\.$/m;

/** A Node on which better-sqlite3 would end the process. */
export function oldNodeSuite(installed: () => Installed): void {
  const says = async (node: string, ...options: string[]): Promise<void> => {
    const { manifest, plain } = installed();
    const programs = Object.values(manifest.bin ?? {}).map((file) => [join('node_modules/hookbox', file), '--version']);
    for (const program of [['run/open-inbox.mjs', 'old.db'], ...programs]) {
      const { code, signal, stderr } = await run(node, [...options, ...program], plain.folder);
      expect(stderr).toMatch(ONE_LINE);
      expect({ code, signal }).toEqual({ code: 1, signal: null });
    }
  };

  it('is told which one is needed, where this one says that it is old', () =>
    says(process.execPath, '--import', `data:text/javascript,${encodeURIComponent(PRETEND)}`));

  const old = oldNode();
  // Without one on the machine the test above has to do.
  if (old !== undefined) it(`is told which one is needed: ${old}`, () => says(old));
}
