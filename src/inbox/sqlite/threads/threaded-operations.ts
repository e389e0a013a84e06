import { InboxUnavailableError, isError } from '../../../errors.ts';
import { entityOf } from '../../../events/entity.ts';
import type { EventFilter, EventCount, EventPage } from '../../operator/search.ts';
import type { Operations } from '../../contract.ts';
import { pinger } from '../../operator/counts.ts';
import type { ExportPage } from '../../operator/transfer.ts';
import { NoThread, type Thread } from './thread.ts';

/** What receivers and processors keep for operators once a second: the writer does it between two groups. */
export type WriterOperations = Pick<
  Operations,
  'count' | 'noteRejected' | 'noteRelease' | 'noteSecret' | 'coarsen' | 'indexNew' | 'ping'
>;

/** An export goes page by page: its reader may be slow, or go away. */
export interface PagedExport {
  beginExport(filter: Parameters<Operations['exportPages']>[0], end: number): Promise<number>;
  nextPage(id: number): Promise<IteratorResult<ExportPage, void>>;
  endExport(id: number): Promise<void>;
}

export type OperatorsOperations = Omit<Operations, keyof WriterOperations | 'exportPages' | 'backup'> & PagedExport;

type Asked = { readonly [Name in keyof (WriterOperations & OperatorsOperations)]: unknown };

export interface Places {
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
export function threadedOperations({ writer, operators, here, newest }: Places): Operations {
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
