import type { DefaultDatabase } from './default-database.ts';
import type { EventKey, IncomingEvent } from './event.ts';
import type { DeadReason } from './state.ts';

/**
 * The right to run a handler for one event for a while. The fence grows with every claim, so whoever has lost the lease
 * is told apart from whoever holds it now.
 */
export interface Lease {
  readonly seq: number;
  readonly fence: number;
}

/** What a processor handles. */
export interface Scope {
  /** the endpoints whose events it handles, by name; `'*'` for every one */
  readonly endpoints: readonly string[] | '*';
  /** the types there is a handler for; `'*'` takes every type */
  readonly types: readonly string[] | '*';
}

/** Everything there is. */
export const EVERYTHING: Scope = { endpoints: '*', types: '*' };

export interface ClaimRequest extends Scope {
  /** milliseconds since 1970 */
  readonly now: number;
  readonly leaseMs: number;
  /** one live lease for each entity, and its events in their order */
  readonly ordered: boolean;
  /** What whoever claims holds and still runs: if these leases have run out, they are renewed. None unless set. */
  readonly holds?: readonly Lease[];
  /**
   * Leases of others that ended by then have run out; `now` unless set. Who cannot tell whether the others are alive, because
   * it was suspended itself or could not write, says when it last could.
   */
  readonly ranOutBy?: number;
  /**
   * whoever was seen since then is still there, so that older events of theirs hold back newer ones; milliseconds since
   * 1970, ten minutes before `now` unless given
   */
  readonly takenSince?: number;
  /**
   * How many more events there is room for of each type that is handled by its own handler, and as `'*'` of all others
   * together; of those that are not named, as many as there are.
   */
  readonly room?: Readonly<Record<string, number>>;
}

/** Some events of one endpoint and type; counted up to a bound, with `more` there are more than that. */
export interface TypeCount {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
  readonly more: boolean;
}

/** What one announcement has done. */
export interface Announced {
  /** what was put away */
  readonly ignored: readonly Omit<TypeCount, 'more'>[];
  /** there is more to look at: announce again, soon */
  readonly more: boolean;
}

/** Events that have waited for ten minutes, and nobody is there who handles them. */
export interface UnhandledType extends TypeCount {
  /** when somebody was last seen who does; `null` where nobody has ever handled their endpoint, as other processors run */
  readonly since: Date | null;
}

/** A processor, as it announces itself. */
export interface ProcessorIdentity {
  /** its own among all processors */
  readonly name: string;
  /** milliseconds since 1970 */
  readonly startedAt: number;
}

/** A processor that runs. */
export interface RunningProcessor extends Scope {
  /** its process and a random word */
  readonly name: string;
  readonly startedAt: Date;
  /** it announces itself every five minutes, and has gone when it was not seen for ten */
  readonly seenAt: Date;
}

/** Who handles what. */
export interface ProcessorsSeen {
  /** those that run, in the order of their start; those of a hookbox that is older than this list are not in it */
  readonly processors: readonly RunningProcessor[];
  /** when each endpoint and type was last seen to be handled, whoever did it; `'*'` for every one */
  readonly handled: readonly { readonly endpoint: string; readonly type: string; readonly seenAt: Date }[];
}

/** Events that were put away because nobody handled their type; those that an operator has discarded are not among them. */
export interface IgnoredType extends TypeCount {
  /** somebody is there now who handles them */
  readonly handled: boolean;
}

/** An event under a lease, with what a handler is told. */
export interface ClaimedEvent extends EventKey {
  readonly lease: Lease;
  readonly body: Uint8Array;
  readonly verified: boolean;
  readonly receivedAt: Date;
  /** 1 for the first run of a handler for this event */
  readonly attempt: number;
  /** how often it has failed since it was stored or rerun */
  readonly failures: number;
  /** a newer event of its entity was processed already */
  readonly superseded: boolean;
  /** the trace context of the delivery that brought it; absent where nobody traced that */
  readonly trace?: string;
}

/** What an attempt failed with, cut to a size that is worth keeping. */
export interface AttemptError {
  /** the name of the error's class, or the type of what was thrown */
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
}

/** An attempt whose lease ran out, as reported by the processor that freed it. */
export interface CrashedEvent extends EventKey {
  readonly type: string | null;
  readonly attempt: number;
  /** `null` where it runs again */
  readonly deadReason: DeadReason | null;
  /** when it runs again, in milliseconds since 1970; `null` where it is dead */
  readonly dueAt: number | null;
  /** `null` unless its handler has committed a transaction by itself */
  readonly error: AttemptError | null;
  /** its processor had said that it closes: it was interrupted and runs again, and has not crashed; absent where it has */
  readonly wasClosing?: true;
}

/** Told of the attempts that a claim has found crashed, once that is durable. */
export type TellCrashed = (crashed: readonly CrashedEvent[]) => void;

/** What became of the end of an attempt; as of `WorkQueue.settle`. */
export type Settled = boolean | 'committed alone';

/** How an attempt ended. */
export type Settlement =
  /** `skipped`: why its handler has let the event go by */
  | { readonly outcome: 'processed'; readonly skipped?: string }
  /** `yields`: newer events of its entity need not wait for it; those of an event that does not say so wait */
  | { readonly outcome: 'retry'; readonly error: AttemptError; readonly dueAt: number; readonly yields?: boolean }
  | { readonly outcome: 'dead'; readonly reason: 'failed' | 'invalid'; readonly error: AttemptError }
  /** it does not count: ended by `close()`, due at once, or by an inbox whose file is not to be had */
  | { readonly outcome: 'interrupted'; readonly dueAt?: number }
  /** its transaction has committed before, so its event is processed: only its lease ends; `error`: what its handler threw after that */
  | { readonly outcome: 'committed'; readonly error?: AttemptError };

/** One run of a handler, as it is kept. */
export interface Attempt {
  readonly number: number;
  /** `manual` for the first run after a rerun */
  readonly trigger: 'auto' | 'manual';
  readonly outcome: 'processed' | 'failed' | 'crashed' | 'interrupted';
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** also set on a processed attempt whose handler threw after its transaction was committed */
  readonly error: AttemptError | null;
  /** of a processed attempt: why its handler has let the event go by; absent where it has not */
  readonly skipped?: string;
}

/** The attempt whose handler asks for a transaction. */
export interface TransactionAttempt {
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** aborted when the processor no longer waits for the attempt; its function then loses its connection and locks */
  readonly givenUp?: AbortSignal | undefined;
  /** asked once `work` has returned: why the handler lets the event go by, if it does */
  readonly skipped?: (() => string | undefined) | undefined;
}

/**
 * The part of an inbox that processors use. Each call is atomic, and durable when it resolves.
 *
 * @typeParam Database - what a handler's transaction works on, which each kind of inbox says for itself
 */
export interface WorkQueue<Database = DefaultDatabase> {
  /**
   * Moves up to `limit` events that are due from pending to processing, oldest first. Frees leases that ran out. When the
   * clock was set back, what lies in the future is moved back first (set-back.ts).
   */
  claim(request: ClaimRequest, limit: number, tell?: TellCrashed): Promise<readonly ClaimedEvent[]>;
  /**
   * Claims one event for inline mode, whatever its history: `busy` when a live lease holds it or its entity, `settled`
   * when there is nothing to run, or its type is paused. Frees no other leases than these two, when they ran out.
   */
  claimOne(key: EventKey, request: ClaimRequest, tell?: TellCrashed): Promise<ClaimedEvent | 'busy' | 'settled'>;
  /**
   * Extends leases; resolves with those that are still held: one that has run out is, until the event is taken over.
   *
   * @param isClosing - their processor closes: where one of them runs out, its attempt was interrupted and has not crashed
   */
  renew(leases: readonly Lease[], now: number, leaseMs: number, isClosing?: boolean): Promise<readonly Lease[]>;
  /**
   * Ends an attempt and its lease, however late: its event is held under its fence until another processor takes it over.
   * `false` when another has, and nothing was changed; `committed alone` when it has ended otherwise than asked for, as the
   * function given to `ctx.transaction` had committed by itself: the event is dead.
   */
  settle(lease: Lease, settlement: Settlement, now: number): Promise<Settled>;
  /**
   * Runs `work` in its own transaction, which also marks the event as processed: both happen, or neither. The lease, and
   * with it the entity, stays held until `settle` ends it as `committed`, or until it runs out.
   *
   * @throws TransactionError, or what `work` or the commit threw; nothing has happened then
   */
  transaction<T>(lease: Lease, work: (database: Database) => T, attempt: TransactionAttempt): Promise<T>;
  /** When the next event of a scope that is not paused is due or a lease runs out, in milliseconds since 1970; `null` for never. */
  nextDue(scope: Scope): Promise<number | null>;
  /**
   * Tells other processors what has a taker, and looks again at events that wait for others. With `ignoreBefore`, puts away
   * events of these endpoints that have been due since then and whose type nobody was seen to handle for seven days, nor
   * since then. Does a bounded part of it: announce until there is no more.
   *
   * @param processor - who announces; it is among `processors` from then on
   */
  announce(scope: Scope, now: number, ignoreBefore: number | null, processor?: ProcessorIdentity): Promise<Announced>;
  /** A processor ends, and is no longer among `processors`. */
  leave(processor: string): Promise<void>;
  /** Who runs, and who ever handled what. */
  processors(now: number): Promise<ProcessorsSeen>;
  /**
   * What waits at any endpoint, and nobody is there who handles it. Whoever was seen since `takenSince` is; milliseconds
   * since 1970, ten minutes before `now` unless given.
   */
  unhandled(now: number, takenSince?: number): Promise<readonly UnhandledType[]>;
  /** What was put away since then for want of a handler; both times in milliseconds since 1970. */
  ignoredSince(scope: Scope, since: number, now: number): Promise<readonly IgnoredType[]>;
  /** Calls back whenever this inbox has stored an event that may be due. Returns how to stop. */
  onPending(listener: () => void): () => void;
  /** The attempts of an event, oldest first. */
  attempts(key: EventKey): Promise<readonly Attempt[]>;
  /**
   * Brings a dead or ignored event back to pending, with what today's schemas make of its body; `false` when it is neither.
   *
   * @param readFrom - the body that `content` was read from: when another has taken its place since, nothing is done
   */
  rerun(
    key: EventKey,
    content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
    now: number,
    readFrom?: Uint8Array,
  ): Promise<boolean>;
  /**
   * Makes tombstones of up to `limit` events of these endpoints that were processed before; resolves with how many, 0 when
   * none is left.
   */
  prune(endpoints: Scope['endpoints'], processedBefore: number, limit: number): Promise<number>;
}
