/** What the exit code of every command means. */
export const EXIT = { ok: 0, failed: 1, usage: 2, partial: 3, notFound: 4, interrupted: 130 } as const;

/** One of these codes. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command with one line on stderr that says what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The arguments cannot work. */
export function usageError(message: string): CommandError {
  return new CommandError(message, EXIT.usage);
}
