import { Command } from 'commander';

/** A command with its examples, which its help shows and docs/cli.md repeats. */
export function command(name: string, description: string, examples: readonly string[]): Command {
  return withExamples(new Command(name).description(description), examples);
}

/** Gives a command examples. */
export function withExamples(made: Command, examples: readonly string[]): Command {
  return Object.assign(made, { examples }).addHelpText('after', examplesText(examples));
}

/** The examples that a command was made with. */
export function examplesOf(made: Command): readonly string[] {
  return (made as Command & { readonly examples?: readonly string[] }).examples ?? [];
}

/** The examples as help shows them. */
export function examplesText(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`;
}
