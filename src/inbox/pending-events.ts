import type { Acceptance } from './event.ts';

/** Whether a processor may have to claim the event. */
export function mayBeDue({ result, started, replaced }: Acceptance): boolean {
  return replaced || (result === 'stored' && started === undefined);
}

/** The listeners of one inbox. */
export function pendingListeners() {
  const listeners = new Set<() => void>();
  return {
    notify: (): void => {
      for (const listener of listeners) listener();
    },
    onPending: (listener: () => void): (() => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
