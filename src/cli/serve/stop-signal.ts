import { EXIT } from '../shared/exit.ts';
import { tell } from '../shared/output.ts';

/** The signals that stop a server. */
export type StopSignal = 'SIGINT' | 'SIGTERM';

/** Resolves with the first signal to stop; the second ends the process at once. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    let stopping = false;
    const onSignal = (signal: StopSignal): void => {
      if (stopping) process.exit(EXIT.interrupted);
      stopping = true;
      tell('Stopping when what is under way is done; Ctrl-C again stops at once.');
      resolve(signal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
