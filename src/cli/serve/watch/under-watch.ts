import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../../shared/output.ts';
import { STOP } from './watch-serve.ts';

/** Tells the process that watches which files the handlers are made of, and ends when it says so or is gone. */
export function underWatch(): void {
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      isStopping = true;
      if (process.listenerCount(signal) === 0) process.exit(EXIT.interrupted); // it has not begun to serve
    });
  }
  // A terminal sends its signal to both processes: the second one would be taken for impatience.
  const stop = (): void => {
    if (!isStopping) process.emit('SIGTERM', 'SIGTERM');
  };
  process.on('message', (message) => {
    if (message === STOP) stop();
  });
  process.on('disconnect', stop);

  // Node 22.14 has none: only the module itself is watched there.
  const { registerHooks } = nodeModule as Partial<typeof nodeModule>;
  registerHooks?.({
    load(url, context, next) {
      if (url.startsWith('file:') && !url.includes('/node_modules/')) report(url);
      return next(url, context);
    },
  });
}

function report(url: string): void {
  process.send?.(fileURLToPath(url.replace(/[?#].*$/, '')));
}
