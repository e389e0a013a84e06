import { describe, expect, it } from 'vitest';
import type { Command } from 'commander';
import { examplesOf, wrappedCommand } from '../../src/cli/shared/command.ts';
import { hookboxProgram } from '../../src/cli/program.ts';
import { cliPage, isRunnable } from './cli-page.ts';

function all(command: Command): Command[] {
  return [command, ...command.commands.flatMap(all)];
}

const program = await hookboxProgram();

describe('docs/cli.md', () => {
  it('is what the commands say of themselves (-u writes it)', async () => {
    await expect(await cliPage(program)).toMatchFileSnapshot('../../docs/cli.md');
  });
});

describe('the page', () => {
  const runnable = all(program).filter((command) => isRunnable(command) && command.name() !== 'help');

  it('has a section for each command, and names each option', async () => {
    const page = await cliPage(program);
    for (const command of runnable) expect(page).toMatch(new RegExp(`^## hookbox .*\\b${command.name()}$`, 'm'));
    for (const { long, hidden } of runnable.flatMap((command) => command.options)) {
      if (!hidden) expect(page).toContain(`${long}\``);
    }
  });

  it('has exit codes, and leaves descriptions of options and notes to the help', async () => {
    const page = await cliPage(program);
    expect(page).toContain(
      'Exit codes: 0 all deliveries were accepted, 1 no delivery was accepted, 3 only some deliveries were accepted, 4 no event matched.',
    );
    for (const other of ['Examples:', '(repeatable)', 'does not follow redirects.']) expect(page).not.toContain(other);
  });
});

describe('the help', () => {
  function helpOf(name: string): string {
    const command = all(program).find((each) => each.name() === name);
    let help = '';
    command?.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    return help.replaceAll(/\s+/g, ' ');
  }

  it('has what the page leaves to it: choices, variables, notes', () => {
    expect(helpOf('trigger')).toMatch(/--tamper <what> .*choices: "body", "signature"/);
    expect(helpOf('serve')).toMatch(/--output <how> .*choices: "interactive", "compact", "ndjson"/);
    expect(helpOf('trigger')).toMatch(/--to <url> .*env: HOOKBOX_URL/);
    expect(helpOf('trigger')).toContain('trigger does not follow redirects.');
  });
});

describe('the help of every command', () => {
  const named = all(program).map((command) => [pathOf(command), command] as const);

  it.each(named)('%s has no line wider than 80 columns, and ends with its examples', (_, command) => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    for (const line of help.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    if (command.name() !== 'help') expect(help).toMatch(/\nExamples:\n(?: {2}\S.*\n| {6}.*\n)+$/);
  });

  it.each(named)('%s groups its options where it has more than six', (_, command) => {
    const groups = command.options.filter(({ hidden }) => !hidden).map(({ helpGroupHeading }) => helpGroupHeading);
    if (groups.length <= 6) return;
    expect(groups).not.toContain(undefined);
    expect(new Set(groups).size).toBeGreaterThan(1);
  });

  it('copies as one command where an example takes several lines', () => {
    for (const [, command] of named) {
      for (const example of examplesOf(command)) {
        const lines = wrappedCommand(example).split('\n');
        expect(lines.map((line) => line.trim().replace(/ \\$/, '')).join(' ')).toBe(example);
        for (const line of lines.slice(0, -1)) expect(line).toMatch(/ \\$/);
      }
    }
  });
});

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

describe('hookbox', () => {
  it('has examples of its own', () => {
    expect(examplesOf(program).length).toBeGreaterThan(2);
  });
});

describe('every command', () => {
  const runnable = all(program).filter(isRunnable);

  it.each(runnable.map((command) => [command.name(), command] as const))(
    '%s has a description and examples',
    (_, command) => {
      expect(command.description()).toMatch(/^[a-z].*[^.]$/);
      expect(examplesOf(command).length).toBeGreaterThan(0);
      for (const example of examplesOf(command)) expect(example).toContain('hookbox');
    },
  );

  it.each(runnable.map((command) => [command.name(), command] as const))(
    '%s describes each of its options',
    (_, command) => {
      for (const option of command.options) expect(option.description, option.flags).not.toBe('');
      for (const argument of command.registeredArguments) expect(argument.description, argument.name()).not.toBe('');
    },
  );

  it('takes no secret as an argument', () => {
    for (const command of all(program)) {
      for (const { long } of command.options) expect(long).not.toMatch(/^--secret$/);
    }
  });
});
