// @module-tag long
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

const SPOILT: Readonly<Record<string, (document: Document) => void>> = {
  'path-parameters-defined': ({ paths }) => Object.assign(paths['/cart/{id}']?.['get'] ?? {}, { parameters: [] }),
  'no-unresolved-refs': ({ components }) => delete components.schemas['Cart'],
  'operation-operationId-unique': ({ paths }) =>
    Object.assign(paths['/cart']?.['post'] ?? {}, { operationId: 'getCart' }),
  'security-defined': ({ components }) => Object.assign(components, { securitySchemes: {} }),
};

test('redocly lint finds each fault of a document with four', () => {
  const document = documentAsJson();
  for (const spoil of Object.values(SPOILT)) spoil(document);
  const found = lint(document).map((problem) => problem.split(':')[0]);
  expect(found).toEqual(expect.arrayContaining(Object.keys(SPOILT)));
});
