import { ConfigurationError, messageOf } from '../errors.ts';
import { CommandError, EXIT, type ExitCode } from './exit.ts';
import { styled, tell } from './output.ts';

/** Says in one line why a command failed, and with which code it will exit. */
export function tellFailure(failure: unknown): void {
  tell(`${styled('red', 'error:', process.stderr)} ${messageOf(failure)}`);
  process.exitCode = exitCodeOf(failure);
}

function exitCodeOf(failure: unknown): ExitCode {
  if (failure instanceof CommandError) return failure.exitCode;
  return failure instanceof ConfigurationError ? EXIT.usage : EXIT.failed;
}
