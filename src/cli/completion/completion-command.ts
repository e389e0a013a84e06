import { Argument, type Command } from 'commander';
import { command } from '../shared/command.ts';
import { print } from '../shared/output.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/**
 * `hookbox completion`
 *
 * @param program - makes the program with all its commands
 */
export function completionCommand(program: () => Promise<Command>): Command {
  return command('completion', 'print what has a shell complete commands, options and types', [
    'source <(hookbox completion bash)',
    'source <(hookbox completion zsh)',
    'hookbox completion fish > ~/.config/fish/completions/hookbox.fish',
  ])
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      '\nPut the line into ~/.bashrc, or into ~/.zshrc after compinit. What is completed is the word hookbox, so it has to be on\n' +
        "your PATH (npm install -g hookbox), or an alias: alias hookbox='npx hookbox'.",
    )
    .action(async (shell: (typeof shells)[number]) => {
      const { scriptFor } = await import('./completion-script.ts');
      print(scriptFor(shell, await program()));
    });
}
