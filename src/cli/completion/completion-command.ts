import { Argument, type Command } from 'commander';
import { command, withNotes } from '../shared/command.ts';
import { print } from '../shared/output.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/**
 * `hookbox completion`
 *
 * @param program - makes the program with all its commands
 */
export function completionCommand(program: () => Promise<Command>): Command {
  const made = command('completion', 'print a shell completion script for commands, options and event types', [
    'source <(hookbox completion bash)',
    'source <(hookbox completion zsh)',
    'hookbox completion fish > ~/.config/fish/completions/hookbox.fish',
  ]).addArgument(new Argument('<shell>', 'the shell').choices(shells));
  return withNotes(made, {
    notes: [
      'In bash, add the first example below to ~/.bashrc. In zsh, add the second one to ~/.zshrc, after ' +
        'compinit. In fish, run the third one once. Completion works for the command hookbox, not for npx ' +
        'hookbox. Therefore, put hookbox on your PATH (npm install -g hookbox), or define the alias ' +
        "hookbox='npx hookbox'.",
    ],
  }).action(async (shell: (typeof shells)[number]) => {
    const { scriptFor } = await import('./completion-script.ts');
    print(scriptFor(shell, await program()));
  });
}
