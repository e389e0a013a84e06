import { EXIT } from './exit.ts';

/**
 * Aborted by the first Ctrl-C or SIGTERM, so that a command can finish what it has begun; the second ends the process at
 * once.
 */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    process.exitCode = EXIT.interrupted;
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return controller.signal;
}
