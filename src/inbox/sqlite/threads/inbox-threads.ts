import { InboxUnavailableError, isError } from '../../../errors.ts';
import { entityOf } from '../../../events/entity.ts';
import type { Operations } from '../../contract.ts';
import type { CommitOutcome } from '../../group-commit.ts';
import { pinger } from '../../ping.ts';
import type { EventFilter } from '../../operator/search.ts';
import type { ExportPage, ExportPages } from '../../operator/transfer.ts';
import type { Move } from '../../queue-moves.ts';
import type { ReadName } from '../jobs.ts';
import { isShortOfDescriptors } from '../opening/usable-file.ts';
import { codesOf, packMoves, UNFIT, UNFIT_BEGUN, unpackOutcomes, type PackedOutcome } from './messages.ts';
import { startWorker } from './start-worker.ts';
import { NoThread, Thread } from './thread.ts';
import type { GiveBack } from './write-lock.ts';

interface InboxThreadsOptions {
  readonly file: string;
  readonly here: Operations;
  readonly newest: () => number;
  readonly notify: () => void;
  readonly writerStarted: () => void;
  readonly whyNot: () => string | null;
  readonly isInPlace: () => boolean;
  /** called once; from then on, no thread is used */
  readonly unusable: (why: unknown) => void;
  /** called once; from then on, operators' functions use no thread */
  readonly noOperators: (why: unknown) => void;
}

export class InboxThreads {
  readonly operations: Operations;
  readonly #options: InboxThreadsOptions;
  readonly #writer: Thread;
  readonly #operators: Thread;
  readonly #checkpoints: Thread;
  #lastLoan = 0;
  #isGivenUp = false;
  #isWithoutOperators = false;

  constructor(options: InboxThreadsOptions) {
    const { file, notify, writerStarted } = options;
    this.#options = options;
    const common = { file, start: startWorker };
    const ready = (): void => this.#connect();
    const writerReady = (): void => {
      writerStarted();
      ready();
    };
    const longLog = (): void => void this.#copyLog();
    this.#writer = new Thread({ ...common, entry: 'writer-thread', ready: writerReady, longLog });
    this.#checkpoints = new Thread({ ...common, entry: 'checkpoint-thread' });
    this.#operators = new Thread({ ...common, entry: 'operators-thread', ready, pending: notify });
    this.operations = threadedOperations(
      (...given) => this.#ask(this.#writer, ...given),
      (...given) => this.#ask(this.#operators, ...given),
      options,
    );
  }

  /** @throws NoThread if no thread exists; nothing was done */
  async commit(moves: readonly Move[], isAgain: boolean): Promise<readonly CommitOutcome[]> {
    const packed = packMoves(moves);
    const answer = await this.#ask(this.#writer, { kind: 'commit', isAgain, ...packed }, [packed.bodies]);
    return unpackOutcomes(answer as readonly PackedOutcome[]).map((outcome) => {
      if (outcome === 'busy' || 'result' in outcome) return outcome;
      return this.#judged(outcome.failure) instanceof NoThread ? 'busy' : outcome;
    });
  }

  read(name: ReadName, given: readonly unknown[]): Promise<unknown> {
    return this.#ask(this.#writer, { kind: 'operate', name: 'read', given: [name, given] });
  }

  async borrow(): Promise<GiveBack> {
    if (!this.#writer.isRunning) return () => {};
    try {
      this.#lastLoan += 1;
      const loan = this.#lastLoan;
      await this.#writer.ask({ kind: 'operate', name: 'borrow', given: [loan] });
      return () => this.#writer.notify({ kind: 'back', loan });
    } catch {
      return () => {}; // the writer has died, and released the lock
    }
  }

  async close(): Promise<void> {
    this.#isGivenUp = true;
    await Promise.all([this.#writer.close(), this.#operators.close(), this.#checkpoints.close()]);
  }

  /** If the thread fails or cannot start, the writer copies the log. */
  async #copyLog(): Promise<void> {
    const copying = this.#ask(this.#checkpoints, { kind: 'operate', name: 'copyLog', given: [] });
    const isUseful = (await copying.catch(() => true)) as boolean; // the response of the thread
    this.#writer.notify({ kind: 'log-copied', isUseful });
  }

  async #ask(thread: Thread, ...given: Parameters<Thread['ask']>): Promise<unknown> {
    try {
      const why = thread.isRunning || this.#isGivenUp ? null : this.#options.whyNot();
      if (why !== null) throw new NoThread(new Error(why));
      return await thread.ask(...given);
    } catch (failure) {
      if (failure instanceof NoThread && failure.isForGood) this.#without(thread, failure.cause);
      throw this.#judged(failure);
    }
  }

  #without(thread: Thread, why: unknown): void {
    if (thread === this.#writer || !this.#writer.isReady) return this.#giveUp(why);
    if (thread === this.#checkpoints) return;
    if (!this.#isWithoutOperators && !this.#isGivenUp) this.#options.noOperators(why);
    this.#isWithoutOperators = true;
  }

  #giveUp(why: unknown): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#options.unusable(why);
  }

  /** Returns `NoThread` if nothing was done and the caller does the work itself from now on. */
  #judged(failure: unknown): unknown {
    const codes = codesOf(failure);
    if (codes.includes(UNFIT_BEGUN)) {
      this.#giveUp(failure);
      return failure;
    }
    const { whyNot, isInPlace } = this.#options;
    // Only the thread cannot open the file, because the inbox has it open.
    const isDenied = (codes.includes('CANNOT_OPEN') || codes.includes('NOT_A_DATABASE')) && isInPlace();
    if (isDenied && isShortOfDescriptors()) return new NoThread(failure, false);
    const isUnfit = isDenied || codes.includes(UNFIT);
    // A trigger, for example, may call a function that only the application's connection has.
    const why = !isUnfit && codes.includes('SQLITE_ERROR') ? whyNot() : null;
    if (!isUnfit && why === null) return failure;
    this.#giveUp(why === null ? failure : new Error(why));
    return new NoThread(failure);
  }

  /** Connects two threads, so that one can borrow the lock of the other. */
  #connect(): void {
    if (!this.#writer.isRunning || !this.#operators.isRunning) return;
    const { port1, port2 } = new MessageChannel();
    this.#writer.notify({ kind: 'lock', port: port1 }, [port1]);
    this.#operators.notify({ kind: 'lock', port: port2 }, [port2]);
  }
}

const IN_WRITER = ['count', 'noteRejected', 'noteRelease', 'noteSecret', 'coarsen', 'indexNew', 'ping'] as const;
const IN_OPERATORS_THREAD = [
  'search',
  'countFound',
  'namesLike',
  'summary',
  'deadGroups',
  'waits',
  'act',
  'createBulk',
  'addToBulk',
  'sealBulk',
  'advanceBulk',
  'bulk',
  'bulks',
  'pauseBulk',
  'resumeBulk',
  'bulkEvents',
  'reportBulk',
  'outcomePart',
  'cancelBulk',
  'acknowledgeGroup',
  'reopenGroup',
  'pauseType',
  'resumeType',
  'pausedTypes',
  'note',
  'recount',
  'lines',
  'actsOn',
  'prunable',
  'pruneSome',
  'erase',
  'importSome',
  'bytes',
  'counts',
  'totals',
  'totalsIn',
  'deliveries',
  'gauges',
  'marks',
  'rejected',
] as const;

export type WriterOperations = Pick<Operations, (typeof IN_WRITER)[number]>;
export type OperatorsOperations = Pick<Operations, (typeof IN_OPERATORS_THREAD)[number]> & PagedExport;

/** Exports go page by page, because the reader may be slow or stop. */
interface PagedExport {
  beginExport(filter: Parameters<Operations['exportPages']>[0], end: number): Promise<number>;
  nextPage(id: number): Promise<ExportPage | null>;
  endExport(id: number): Promise<void>;
}

interface ExportUnderWay {
  id: number | null;
}

type Ask = Thread['ask'];

function threadedOperations(
  writer: Ask,
  operators: Ask,
  { here, newest }: Pick<InboxThreadsOptions, 'here' | 'newest'>,
): Operations {
  /** A caller may drop an export without ending it. */
  const dropped = new FinalizationRegistry<ExportUnderWay>((under) => void endExport(operators, under));
  const inThread = <Name extends keyof Operations>(ask: Ask, names: readonly Name[]) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        async (...given: readonly unknown[]): Promise<unknown> => {
          try {
            return await operate(ask, name, given);
          } catch (failure) {
            if (!(failure instanceof NoThread)) throw failure;
            return (here[name] as (...given: readonly unknown[]) => unknown)(...given);
          }
        },
      ]),
    ) as unknown as Pick<Operations, Name>; // each is sent to the function of its name
  const written = inThread(writer, IN_WRITER);
  const threaded = inThread(operators, IN_OPERATORS_THREAD);
  /** An aborted caller gets the abort, even if the thread had already finished. */
  const abortable =
    <Request extends { readonly signal?: AbortSignal | undefined }, Found>(
      find: (filter: EventFilter, request: Request) => Promise<Found>,
    ) =>
    async (filter: EventFilter, request: Request): Promise<Found> => {
      const found = await find(filter, request);
      request.signal?.throwIfAborted();
      return found;
    };

  return {
    ...written,
    ...threaded,
    ping: pinger(written.ping),
    search: abortable(threaded.search),
    countFound: abortable(threaded.countFound),
    // A backup's own thread outlives the inbox until the copy is complete.
    backup: (file) => here.backup(file),
    // The application's entity rule runs where its code runs.
    act: (act, keys, by, { entity, ...options }) =>
      isOwn(entity) ? here.act(act, keys, by, { entity, ...options }) : threaded.act(act, keys, by, options),
    advanceBulk: (id, limit, by, { entity, ...options }) =>
      isOwn(entity)
        ? here.advanceBulk(id, limit, by, { entity, ...options })
        : threaded.advanceBulk(id, limit, by, options),
    exportPages(filter) {
      // Read now: later events are not exported.
      const end = newest() + 1;
      const under: ExportUnderWay = { id: null };
      const reading = pages(operators, under, [filter, end], () => here.exportPages(filter));
      dropped.register(reading, under);
      return reading;
    },
  };
}

function isOwn<Rule>(entity: Rule | undefined): entity is Rule {
  return entity !== undefined && entity !== entityOf;
}

function pages(ask: Ask, under: ExportUnderWay, given: readonly unknown[], here: () => ExportPages): ExportPages {
  let isOver = false;
  async function end(): Promise<void> {
    isOver = true;
    await endExport(ask, under);
  }
  async function nextInThread(): Promise<ExportPage | null> {
    try {
      const page = (await operate(ask, 'nextPage', [under.id])) as ExportPage | null; // as its type requires
      if (page === null) await end();
      return page;
    } catch (failure) {
      await end();
      throw failure instanceof NoThread ? new InboxUnavailableError('CLOSED', 'the inbox is closed') : failure;
    }
  }
  async function begin(): Promise<Pick<ExportPages, 'next'>> {
    try {
      under.id = (await operate(ask, 'beginExport', given)) as number; // as its type requires
      return { next: nextInThread };
    } catch (failure) {
      if (!(failure instanceof NoThread)) throw failure;
      return here();
    }
  }

  let begun: ReturnType<typeof begin> | null = null;
  return {
    async next() {
      if (isOver) return null;
      begun ??= begin();
      return (await begun).next();
    },
    end,
  };
}

async function endExport(ask: Ask, under: ExportUnderWay): Promise<void> {
  const { id } = under;
  under.id = null;
  if (id !== null) await operate(ask, 'endExport', [id]).catch(() => {}); // the thread has died, and the export with it
}

/** A signal and a callback in the options, the last argument, cannot be sent. */
async function operate(
  ask: Ask,
  name: keyof Operations | keyof PagedExport,
  given: readonly unknown[],
): Promise<unknown> {
  const { signal, onProgress, ...options } = Object(given.at(-1)) as {
    readonly signal?: AbortSignal;
    readonly onProgress?: (progress: unknown) => void;
  };
  if (signal === undefined && onProgress === undefined) return ask({ kind: 'operate', name, given });
  const sent = [...given.slice(0, -1), options];
  try {
    return await ask({ kind: 'operate', name, given: sent, asking: true }, [], { signal, onProgress });
  } catch (failure) {
    // The reason of the original abort, because sending has changed it.
    if (isError(failure) && failure.name === 'AbortError') signal?.throwIfAborted();
    throw failure;
  }
}
