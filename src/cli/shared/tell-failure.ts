import { causesOf, ConfigurationError, messageOf } from '../../errors.ts';
import { isFull } from '../../inbox/sqlite/opening/database.ts';
import { CommandError, EXIT, type ExitCode } from './exit.ts';
import { styled, tell } from './output.ts';

/** Says in one line why a command failed, and with which code it will exit. */
export function tellFailure(failure: unknown): void {
  tell(
    `${styled('red', 'error:', process.stderr)} ${messageOf(failure)}${causesOf(failure).some(isFull) ? FULL_DISK : ''}`,
  );
  process.exitCode = exitCodeOf(failure);
}

function exitCodeOf(failure: unknown): ExitCode {
  if (failure instanceof CommandError) return failure.exitCode;
  return failure instanceof ConfigurationError ? EXIT.usage : EXIT.failed;
}

/** Pruning is what one thinks of first, and it writes before it makes room. */
const FULL_DISK =
  '. First free a few tens of megabytes on that disk (delete logs or old exports), or move the inbox ' +
  'to a larger disk. Then prune events: pruning itself needs some free space.';
