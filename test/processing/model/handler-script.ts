import type { HandlerContext } from '../../../src/processing/handlers.ts';
import { PermanentError, RetryLaterError } from '../../../src/index.ts';
import type { Clock } from '../../../src/host/clock.ts';
import type { SqliteDatabase } from '../../../src/inbox/sqlite/sqlite-inbox.ts';

export const behaviours = [
  'succeed',
  'succeed slowly',
  'fail',
  'fail slowly',
  'fail for good',
  'pause the type',
  'throw null',
  'commit',
  'commit slowly',
  'commit, then fail',
  'commit, then work on',
  'commit, then kill the process',
  'commit twice',
  'fail inside the transaction',
  'lose the connection inside the transaction',
  'never end the transaction',
  'commit, not awaited',
  'commit twice, not awaited',
  'fail inside the transaction, not awaited',
  'fail inside the transaction and do without',
  'take a step',
  'take a step, then fail',
  'take a step slowly, then fail',
  'take a step, then kill the process',
  'wait for the signal',
  'wait for the signal and swallow it',
  'ignore the signal',
  'kill the process',
] as const;

export type Behaviour = (typeof behaviours)[number];

/** Longer than a lease, shorter than the time a handler has. */
const SLOW_MS = 5_000;

/** Shorter than the time for which an event may be overdue. */
const PAUSE_MS = 20_000;

const NULL: unknown = null;

export interface Stage {
  readonly clock: Clock;
  onHealed(wake: () => void): void;
  writeEffect(database: SqliteDatabase, name: string): void | Promise<void>;
  loseConnection(database: SqliteDatabase): void | Promise<void>;
  hang(): Promise<never>;
  killProcess(): void;
  /** A step runs. */
  act(): void;
  doesWithout(): void;
}

export async function perform(
  behaviour: Behaviour,
  name: string,
  context: HandlerContext,
  stage: Stage,
): Promise<void> {
  const { signal } = context;
  const slowly = (): Promise<void> =>
    new Promise((resolve) => {
      stage.clock.after(SLOW_MS, resolve);
      stage.onHealed(resolve);
    });
  const aborted = (): Promise<void> =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve());
      stage.onHealed(resolve);
    });
  const commit = (): Promise<void> =>
    // A promise if the store is asynchronous; SQLite refuses it.
    context.transaction((database): void => stage.writeEffect(database, name) as void);
  const failInside = (): Promise<void> =>
    context.transaction(() => {
      throw new Error('inside the transaction');
    });

  const takeStep = (wait: () => Promise<void> = async () => {}): Promise<void> =>
    context.once('step', async () => {
      await wait();
      stage.act();
    });

  switch (behaviour) {
    case 'succeed':
      return;
    case 'succeed slowly':
      return slowly();
    case 'fail':
      throw new Error('not this time');
    case 'fail slowly':
      await slowly();
      throw new Error('not this time');
    case 'fail for good':
      throw new PermanentError('not at any time');
    case 'pause the type':
      throw new RetryLaterError({ afterMs: PAUSE_MS, countAttempt: false, pauseType: true, message: 'down' });
    case 'throw null':
      throw NULL;
    case 'commit':
      return commit();
    case 'commit slowly':
      await slowly();
      return commit();
    case 'commit, then fail':
      await commit();
      throw new Error('after the commit');
    case 'commit, then work on':
      await commit();
      return slowly();
    case 'commit, then kill the process':
      await commit();
      stage.killProcess();
      return new Promise(() => {});
    case 'commit twice':
      await commit();
      return commit();
    case 'fail inside the transaction':
      return failInside();
    case 'lose the connection inside the transaction':
      return context.transaction((database): void => stage.loseConnection(database) as void);
    case 'never end the transaction':
      return context.transaction((): void => stage.hang() as never);
    case 'commit, not awaited':
      void commit();
      return;
    case 'commit twice, not awaited':
      void commit();
      void commit();
      return;
    case 'fail inside the transaction, not awaited':
      void failInside();
      return;
    case 'fail inside the transaction and do without':
      stage.doesWithout();
      return failInside().catch(() => {});
    case 'take a step':
      return takeStep();
    case 'take a step, then fail':
      await takeStep();
      throw new Error('after the step');
    case 'take a step slowly, then fail':
      await takeStep(slowly);
      throw new Error('after the step');
    case 'take a step, then kill the process':
      await takeStep();
      stage.killProcess();
      return new Promise(() => {});
    case 'wait for the signal':
      await aborted();
      return signal.throwIfAborted();
    case 'wait for the signal and swallow it':
      return aborted();
    case 'ignore the signal':
      return new Promise((resolve) => stage.onHealed(resolve));
    case 'kill the process':
      stage.killProcess();
      return new Promise(() => {});
  }
}
