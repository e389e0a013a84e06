import { EXIT } from './exit.ts';
import { tell } from './output.ts';

/** The signals that stop a command: Ctrl-C sends SIGINT, and whoever manages processes SIGTERM. */
export type StopSignal = 'SIGINT' | 'SIGTERM';

/** Aborted by the first signal, so that a command can finish what it has begun; the second ends the process at once. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  onFirstSignal(() => {
    process.exitCode = EXIT.interrupted;
    controller.abort();
  });
  return controller.signal;
}

/** For whoever runs another process: resolves with the first signal; the second ends this process at once. */
export function firstSignal(): Promise<StopSignal> {
  return new Promise(onFirstSignal);
}

/** For a server: says that it stops, and resolves with the first signal; the second ends the process at once. */
export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    onFirstSignal((signal) => {
      tell(stopping('Stopping when the work in progress is done'));
      resolve(signal);
    });
  });
}

/** What a command says on the first signal. */
export function stopping(what: string): string {
  return `${what}; to stop immediately, press Ctrl-C again.`;
}

/** What commands that deliver say. */
export const STOPS_AFTER_ANSWERS = stopping('Stopping when all deliveries in progress have been answered');

function onFirstSignal(begin: (signal: StopSignal) => void): void {
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(EXIT.interrupted);
      isStopping = true;
      begin(signal);
    });
  }
}
