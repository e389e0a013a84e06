import { Command } from 'commander';

/** A command with its examples, which its help shows and docs/cli.md repeats. */
export function command(name: string, description: string, examples: readonly string[]): Command {
  return Object.assign(new Command(name), { examples })
    .description(description)
    .addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
}

/** The examples that a command was made with. */
export function examplesOf(made: Command): readonly string[] {
  return (made as Command & { readonly examples?: readonly string[] }).examples ?? [];
}
