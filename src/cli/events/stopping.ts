import { tell } from '../shared/output.ts';
import type { Progress } from '../shared/progress.ts';

/** Does long work beneath a progress bar, and says on the first Ctrl-C that it will stop. */
export async function underWay<T>(signal: AbortSignal, progress: Progress, work: () => Promise<T>): Promise<T> {
  const tellStopping = (): void => {
    progress.above(() => tell('Stopping after what is under way; Ctrl-C again stops at once.'));
  };
  signal.addEventListener('abort', tellStopping);
  try {
    return await work();
  } finally {
    signal.removeEventListener('abort', tellStopping);
    progress.end();
  }
}
