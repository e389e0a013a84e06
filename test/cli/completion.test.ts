import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { hookboxProgram } from '../../src/cli/program.ts';
import { scriptFor } from '../../src/cli/completion.ts';
import { eventTypes } from '../../src/events/event-types.ts';
import { scratchFile, scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox } from './run-hookbox.ts';

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(' ');
}

let program: Awaited<ReturnType<typeof hookboxProgram>>;
beforeAll(async () => {
  program = await hookboxProgram();
});

function offered(lines: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const ask = (words: readonly string[]): string =>
    `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _hookbox; printf '%s\n' "\${COMPREPLY[@]}"; echo =`;
  const file = scratchFile('completion');
  writeFileSync(file, [...scriptFor('bash', program), ...lines.map(ask)].join('\n'));
  const args = ['--norc', '--noprofile', file];
  const { stdout, stderr, status } = spawnSync('bash', args, { cwd: scratchFolder(), encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout
    .split('=\n')
    .slice(0, -1)
    .map((text) => text.split('\n').filter((word) => word !== ''));
}

const CASES: readonly (readonly [words: readonly string[], offered: readonly string[]])[] = [
  [['hookbox', 'ch'], ['check']],
  [
    ['hookbox', 'events', 're'],
    ['rerun', 'reopen', 'replay', 'rejected', 'resume', 'retry-now'],
  ],
  [
    ['hookbox', 'trigger', 'order.c'],
    ['order.created', 'order.confirmed', 'order.completed', 'order.cancelled'],
  ],
  [
    ['hookbox', 'trigger', 'order.ready', '--tamper', ''],
    ['body', 'signature'],
  ],
  [['hookbox', 'trigger', '--ov'], ['--override']],
  [
    ['hookbox', 'events', 'list', '--limit', '3', '--state', 'p'],
    ['pending', 'processing', 'processed'],
  ],
  [
    ['hookbox', 'events', 'list', '--type', 'cart.'],
    ['cart.abandoned', 'cart.expires_soon'],
  ],
  [['hookbox', 'events', 'list', '--dead-reason', 'i'], ['invalid']],
  [['hookbox', 'check', '--only', 'slow'], ['slow-body']],
  [['hookbox', 'sandbox', 'list', 'dead'], ['dead-letters']],
  [['hookbox', 'serve', '--outp'], ['--output']],
  [['hookbox', 'completion', 'z'], ['zsh']],
  [
    ['hookbox', 'replay', '--s'],
    ['--state', '--since', '--skip', '--schema', '--secret-file'],
  ],
  [['hookbox', '--ver'], ['--version']],
  [['hookbox', 'events', 'show', '--nothing'], []],
];

it('bash is offered what fits, and nothing else', () => {
  const found = offered(CASES.map(([words]) => words));
  for (const [at, [words, expected]] of CASES.entries()) {
    expect([words, [...(found[at] ?? [])].sort()]).toEqual([words, [...expected].sort()]);
  }
});

describe.each(['bash', 'zsh', 'fish'] as const)('completion for %s', (shell) => {
  it('is printed line by line', async () => {
    expect(await runHookbox(['completion', shell])).toEqual({
      code: 0,
      stdout: `${scriptFor(shell, program).join('\n')}\n`,
      stderr: '',
    });
  });

  it('knows every command, every option and every type', () => {
    const script = scriptFor(shell, program).join('\n');
    const all = (command: typeof program): readonly (typeof program)[] => [command, ...command.commands.flatMap(all)];
    for (const { options } of all(program)) {
      for (const { long, hidden } of options)
        if (!hidden) expect(script).toContain(shell === 'fish' ? `-l ${long?.slice(2)}` : long);
    }
    for (const type of eventTypes) expect(script).toContain(type);
  });
});
