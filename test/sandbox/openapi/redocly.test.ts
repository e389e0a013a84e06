import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { part } from '../../helpers/parts.ts';
import { scratchFolder } from '../../helpers/scratch-folder.ts';
import { documentAsJson, type Document } from './described.ts';

const CONFIG = fileURLToPath(new URL('redocly.yaml', import.meta.url));

function lint(document: Document): readonly string[] {
  const folder = scratchFolder();
  const file = join(folder, 'openapi.json');
  writeFileSync(file, JSON.stringify(document, null, 2));
  const args = [part('@redocly/cli/bin/cli.js'), 'lint', file, '--config', CONFIG, '--format', 'json'];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, DO_NOT_TRACK: '1', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  expect(stdout, stderr).toMatch(/^\{/);
  const { problems } = JSON.parse(stdout) as {
    readonly problems: readonly { readonly ruleId: string; message: string }[];
  };
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

test('redocly lint has nothing to say', () => {
  expect(lint(documentAsJson())).toEqual([]);
});

test.each<[rule: string, spoil: (document: Document) => void]>([
  ['path-parameters-defined', ({ paths }) => Object.assign(paths['/cart/{id}']?.['get'] ?? {}, { parameters: [] })],
  ['no-unresolved-refs', ({ components }) => delete components.schemas['Cart']],
  [
    'operation-operationId-unique',
    ({ paths }) => Object.assign(paths['/cart']?.['post'] ?? {}, { operationId: 'getCart' }),
  ],
  ['security-defined', ({ components }) => Object.assign(components, { securitySchemes: {} })],
])('redocly lint finds %s', (rule, spoil) => {
  const document = documentAsJson();
  spoil(document);
  expect(lint(document)).toContainEqual(expect.stringMatching(`^${rule}:`));
});
