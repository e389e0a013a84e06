import { InboxUnavailableError, isError } from '../../../errors.ts';
import { entityOf } from '../../../events/entity.ts';
import type { CommitOutcome } from '../../group-commit.ts';
import type { EventFilter, EventCount, EventPage } from '../../operator/search.ts';
import type { Operations } from '../../contract.ts';
import { pinger } from '../../operator/counts.ts';
import type { ExportPage } from '../../operator/transfer.ts';
import type { Move, ReadName } from '../jobs.ts';
import { isShortOfDescriptors } from '../opening/usable-file.ts';
import { packMoves, unpackOutcomes, type PackedOutcome, codesOf, UNFIT, UNFIT_BEGUN } from './messages.ts';
import { startWorker } from './start-worker.ts';
import { NoThread, Thread } from './thread.ts';
import type { GiveBack } from './write-lock.ts';

const CANNOT_OPEN: ReadonlySet<string> = new Set(['CANNOT_OPEN', 'NOT_A_DATABASE']);

interface InboxThreadsOptions {
  readonly file: string;
  /** operators' functions on the thread of whoever asks */
  readonly here: Operations;
  /** the `seq` of the event that was stored last, at once */
  readonly newest: () => number;
  /** told that events may have become due */
  readonly notify: () => void;
  /** told whenever the writer has started: it does the checkpoints from then on */
  readonly writerStarted: () => void;
  /** why no thread may open the file, as far as can be told now */
  readonly whyNot: () => string | null;
  /** whether the connection that has opened the file still has the one that lies there */
  readonly isInPlace: () => boolean;
  /** told once that all is to be done without threads from now on, and why */
  readonly unusable: (why: unknown) => void;
  /** told once that operators are to look without a thread from now on, and why */
  readonly noOperators: (why: unknown) => void;
}

/** The threads of an inbox: the writer, the checkpoint thread and the operators' thread. Each starts when first needed. */
export class InboxThreads {
  readonly operations: Operations;
  readonly #options: InboxThreadsOptions;
  readonly #writer: Thread;
  readonly #operators: Thread;
  readonly #checkpoints: Thread;
  #isGivenUp = false;
  #isWithoutOperators = false;

  constructor(options: InboxThreadsOptions) {
    const { file, here, newest, notify, writerStarted } = options;
    this.#options = options;
    const ready = (): void => this.#connect();
    const writerReady = (): void => {
      writerStarted();
      ready();
    };
    const common = { file, start: startWorker };
    const longLog = (): void => void this.#copyLog();
    this.#writer = new Thread({ ...common, entry: 'writer-thread', ready: writerReady, longLog });
    this.#checkpoints = new Thread({ ...common, entry: 'checkpoint-thread' });
    this.#operators = new Thread({ ...common, entry: 'operators-thread', ready, pending: notify });
    this.operations = threadedOperations({
      writer: { ask: (...asked) => this.#ask(this.#writer, ...asked) },
      operators: { ask: (...asked) => this.#ask(this.#operators, ...asked) },
      here,
      newest,
    });
  }

  /** @throws NoThread where there is none, and nothing of it was done */
  async commit(moves: readonly Move[], isAgain: boolean): Promise<readonly CommitOutcome[]> {
    const packed = packMoves(moves);
    const answer = await this.#ask(this.#writer, { kind: 'commit', isAgain, ...packed }, [packed.bodies]);
    const outcomes = unpackOutcomes(answer as readonly PackedOutcome[]); // what the writer answers
    return outcomes.map((outcome) => {
      if (outcome === 'busy' || 'result' in outcome) return outcome;
      return this.#judged(outcome.failure) instanceof NoThread ? 'busy' : outcome;
    });
  }

  /** @throws NoThread where there are none: it is to be read here */
  read(name: ReadName, given: readonly unknown[]): Promise<unknown> {
    return this.#ask(this.#writer, { kind: 'read', name, given });
  }

  /** Asks the writer for the lock. One that was never started has not got it. */
  async borrow(): Promise<GiveBack> {
    if (!this.#writer.isRunning) return () => {};
    try {
      const loan = (await this.#writer.ask({ kind: 'borrow' })) as number; // what the writer answers
      return () => this.#writer.notify({ kind: 'back', loan });
    } catch {
      // It has died, and the lock went with it.
      return () => {};
    }
  }

  async close(): Promise<void> {
    this.#isGivenUp = true;
    await Promise.all([this.#writer.close(), this.#operators.close(), this.#checkpoints.close()]);
  }

  /** If the thread fails or cannot start, the writer copies the log. */
  async #copyLog(): Promise<void> {
    const asked = this.#ask(this.#checkpoints, { kind: 'copy-log' });
    const isUseful = (await asked.catch(() => true)) as boolean; // what the thread answers
    this.#writer.notify({ kind: 'log-copied', isUseful });
  }

  async #ask(thread: Thread, ...asked: Parameters<Thread['ask']>): Promise<unknown> {
    try {
      const why = thread.isRunning || this.#isGivenUp ? null : this.#options.whyNot();
      if (why !== null) throw new NoThread(new Error(why));
      return await thread.ask(...asked);
    } catch (failure) {
      if (failure instanceof NoThread && failure.isForGood) this.#without(thread, failure.cause);
      throw this.#judged(failure);
    }
  }

  /** Without a writer there are no threads at all. */
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

  /**
   * What a failure in a thread says of threads: `NoThread` where nothing was done and it is to be done here, as is all else
   * from then on.
   */
  #judged(failure: unknown): unknown {
    const codes = codesOf(failure);
    if (codes.includes(UNFIT_BEGUN)) {
      this.#giveUp(failure);
      return failure;
    }
    const { whyNot, isInPlace } = this.#options;
    // The file is there, and open: it is the thread that cannot have it.
    const isDenied = codes.some((code) => CANNOT_OPEN.has(code)) && isInPlace();
    if (isDenied && isShortOfDescriptors()) return new NoThread(failure, false);
    const isUnfit = isDenied || codes.includes(UNFIT);
    // Such as one that calls a function which only the application's connection has.
    const why = !isUnfit && codes.includes('SQLITE_ERROR') ? whyNot() : null;
    if (!isUnfit && why === null) return failure;
    this.#giveUp(why === null ? failure : new Error(why));
    return new NoThread(failure);
  }

  /** So that one may borrow the lock of the other. */
  #connect(): void {
    if (!this.#writer.isRunning || !this.#operators.isRunning) return;
    const { port1, port2 } = new MessageChannel();
    this.#writer.notify({ kind: 'lock', port: port1 }, [port1]);
    this.#operators.notify({ kind: 'lock', port: port2 }, [port2]);
  }
}

/** What receivers and processors keep for operators once a second: the writer does it between two groups. */
export type WriterOperations = Pick<
  Operations,
  'count' | 'noteRejected' | 'noteRelease' | 'noteSecret' | 'coarsen' | 'indexNew' | 'ping'
>;

/** An export goes page by page: its reader may be slow, or go away. */
interface PagedExport {
  beginExport(filter: Parameters<Operations['exportPages']>[0], end: number): Promise<number>;
  nextPage(id: number): Promise<IteratorResult<ExportPage, void>>;
  endExport(id: number): Promise<void>;
}

export type OperatorsOperations = Omit<Operations, keyof WriterOperations | 'exportPages' | 'backup'> & PagedExport;

type Asked = { readonly [Name in keyof (WriterOperations & OperatorsOperations)]: unknown };

interface Places {
  readonly writer: Pick<Thread, 'ask'>;
  readonly operators: Pick<Thread, 'ask'>;
  /** on the thread of whoever asks, for where there are no others */
  readonly here: Operations;
  /** the `seq` of the event that was stored last, at once */
  readonly newest: () => number;
}

interface Given {
  readonly signal?: AbortSignal | undefined;
}

interface ExportUnderWay {
  /** what the thread knows it by, until it has ended */
  id: number | null;
}

/** What operators do, in other threads. */
function threadedOperations({ writer, operators, here, newest }: Places): Operations {
  /** Who leaves an export without a word, as by `next()` and no more, would leave it in the thread for ever. */
  const dropped = new FinalizationRegistry<ExportUnderWay>((under) => void endExport(operators, under));
  const inThread =
    <Name extends Exclude<keyof Operations, 'exportPages' | 'backup'>>(thread: Pick<Thread, 'ask'>, name: Name) =>
    async (...given: Parameters<Operations[Name]>): Promise<never> => {
      try {
        return (await ask(thread, name, given)) as never; // what its namesake there resolves with
      } catch (failure) {
        if (!(failure instanceof NoThread)) throw failure;
        return (here[name] as (...given: readonly unknown[]) => Promise<never>)(...given);
      }
    };
  const wrote = <Name extends keyof WriterOperations>(name: Name) => inThread(writer, name);
  const looked = <Name extends keyof Omit<OperatorsOperations, keyof PagedExport>>(name: Name) =>
    inThread(operators, name);
  /** Whoever has given it up hears so, also where the thread was done before it heard of that. */
  const sought = <Found>(name: 'search' | 'countFound') => {
    const seek = looked(name) as (filter: EventFilter, request: Given) => Promise<Found>; // as its namesake
    return async (filter: EventFilter, request: Given): Promise<Found> => {
      const found = await seek(filter, request);
      request.signal?.throwIfAborted();
      return found;
    };
  };

  return {
    count: wrote('count'),
    noteRejected: wrote('noteRejected'),
    noteRelease: wrote('noteRelease'),
    noteSecret: wrote('noteSecret'),
    coarsen: wrote('coarsen'),
    indexNew: wrote('indexNew'),
    // A thread that hangs on its disk does not even say so.
    ping: pinger(wrote('ping')),

    search: sought<EventPage>('search'),
    countFound: sought<EventCount>('countFound'),
    namesLike: looked('namesLike'),
    summary: looked('summary'),
    deadGroups: looked('deadGroups'),
    waits: looked('waits'),
    createBulk: looked('createBulk'),
    addToBulk: looked('addToBulk'),
    sealBulk: looked('sealBulk'),
    bulk: looked('bulk'),
    bulks: looked('bulks'),
    reportBulk: looked('reportBulk'),
    outcomePart: looked('outcomePart'),
    cancelBulk: looked('cancelBulk'),
    pauseType: looked('pauseType'),
    resumeType: looked('resumeType'),
    pausedTypes: looked('pausedTypes'),
    note: looked('note'),
    recount: looked('recount'),
    lines: looked('lines'),
    actsOn: looked('actsOn'),
    prunable: looked('prunable'),
    pruneSome: looked('pruneSome'),
    erase: looked('erase'),
    importSome: looked('importSome'),
    bytes: looked('bytes'),
    counts: looked('counts'),
    totals: looked('totals'),
    totalsIn: looked('totalsIn'),
    deliveries: looked('deliveries'),
    gauges: looked('gauges'),
    marks: looked('marks'),
    rejected: looked('rejected'),

    // In a thread of its own in any case, which outlives the inbox until the copy is whole.
    backup: (file) => here.backup(file),

    // A rule of the application's own runs where the application's code runs.
    act: (act, keys, by, { entity, ...options }) =>
      isOwn(entity) ? here.act(act, keys, by, { entity, ...options }) : looked('act')(act, keys, by, options),
    advanceBulk: (id, limit, by, { entity }) =>
      isOwn(entity) ? here.advanceBulk(id, limit, by, { entity }) : looked('advanceBulk')(id, limit, by, {}),

    exportPages(filter) {
      // At once: what is stored from now on is not among them.
      const end = newest() + 1;
      const under: ExportUnderWay = { id: null };
      const begin = () => ask(operators, 'beginExport', [filter, end]) as Promise<number>; // as its type says
      const reading = pages(under, begin, operators, () => here.exportPages(filter));
      dropped.register(reading, under);
      return reading;
    },
  };
}

function isOwn<Rule>(entity: Rule | undefined): entity is Rule {
  return entity !== undefined && entity !== entityOf;
}

async function* pages(
  under: ExportUnderWay,
  begin: () => Promise<number>,
  operators: Pick<Thread, 'ask'>,
  here: () => AsyncGenerator<ExportPage, void>,
): AsyncGenerator<ExportPage, void> {
  let id: number;
  try {
    id = await begin();
    under.id = id;
  } catch (failure) {
    if (!(failure instanceof NoThread)) throw failure;
    return yield* here();
  }
  try {
    for (;;) {
      const { done, value } = (await ask(operators, 'nextPage', [id])) as IteratorResult<ExportPage, void>;
      if (done === true) return;
      yield value;
    }
  } catch (failure) {
    throw failure instanceof NoThread ? new InboxUnavailableError('CLOSED', 'the inbox is closed') : failure;
  } finally {
    await endExport(operators, under);
  }
}

async function endExport(operators: Pick<Thread, 'ask'>, under: ExportUnderWay): Promise<void> {
  const { id } = under;
  under.id = null;
  if (id !== null) await ask(operators, 'endExport', [id]).catch(() => {}); // the thread has died, and the export with it
}

/** What cannot be sent is left out of the options, the last argument: a signal is passed on, and progress comes back. */
async function ask(thread: Pick<Thread, 'ask'>, name: keyof Asked, given: readonly unknown[]): Promise<unknown> {
  const { signal, onProgress, ...options } = Object(given.at(-1)) as {
    readonly signal?: AbortSignal;
    readonly onProgress?: (progress: unknown) => void;
  };
  if (signal === undefined && onProgress === undefined) return thread.ask({ kind: 'operate', name, given });
  const sent = [...given.slice(0, -1), options];
  try {
    return await thread.ask({ kind: 'operate', name, given: sent, asking: true }, [], { signal, onProgress });
  } catch (failure) {
    // As it was aborted here: its reason does not come back from there as it was.
    if (isError(failure) && failure.name === 'AbortError') signal?.throwIfAborted();
    throw failure;
  }
}
