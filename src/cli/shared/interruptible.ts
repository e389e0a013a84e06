import { stopping } from './interruption.ts';
import { tell } from './output.ts';
import type { Progress } from './progress-bar.ts';

/**
 * Does long work beneath a progress bar, and says on the first Ctrl-C that it will stop.
 *
 * @param words - what it says then
 */
export async function underWay<T>(
  signal: AbortSignal,
  progress: Progress,
  work: () => Promise<T>,
  words = stopping('Stopping after the current step'),
): Promise<T> {
  const tellStopping = (): void => {
    progress.above(() => tell(words));
  };
  signal.addEventListener('abort', tellStopping);
  try {
    return await work();
  } finally {
    signal.removeEventListener('abort', tellStopping);
    progress.end();
  }
}
