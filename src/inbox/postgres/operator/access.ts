import type { Store } from '../store.ts';

/** How what operators do reaches the tables. */
export interface Access {
  readonly store: Store;
  /** Carries out what is asked of the inbox: failures are such as whoever asks may know. */
  readonly ask: <T>(work: () => Promise<T>) => Promise<T>;
  /** Tells processors that events may have become due. */
  readonly notify: () => void;
}
