import type { EventKey, IncomingEvent, DeadReason } from './event.ts';
import type { SqliteDatabase } from './sqlite/opening/database.ts';

/** The right of one processor to run the handler of one event for a limited time. Each claim has a larger fence. */
export interface Lease {
  readonly seq: number;
  readonly fence: number;
}

/** The events that a processor handles. */
export interface Scope {
  /** The names of the endpoints; `'*'` for all endpoints. */
  readonly endpoints: readonly string[] | '*';
  /** The types with a handler; `'*'` for all types. */
  readonly types: readonly string[] | '*';
  /** If `types` is `'*'`, the types that have their own handler. Metrics count these types separately. */
  readonly named?: readonly string[];
}

export const EVERYTHING: Scope = { endpoints: '*', types: '*' };

/** How often attempts of a type may begin, over all processes of the inbox. */
export interface Rate {
  /** How many attempts may begin in any span of `perMs`: 1 to 1,000,000. */
  readonly count: number;
  /** The length of the span, in milliseconds: at most 86,400,000 (one day). */
  readonly perMs: number;
}

/** What stops a type whose attempts fail in a row, over all processes of the inbox. */
export interface Breaker {
  /** How many attempts in a row fail before the type is paused: 1 to 1,000. */
  readonly failures: number;
  /** How long the type waits before the next event is tried, in milliseconds: at most 86,400,000 (one day). */
  readonly probeMs: number;
}

/** For the breaker of the event's type. */
export interface BreakerEnd {
  readonly limit: number;
  readonly probeMs: number;
  readonly isProbe: boolean;
  /** The attempt proves nothing about the provider, so another event may probe. */
  readonly isUnclear?: true;
}

/** By type; `'*'` for all types without their own handler together. */
export type Rates = Readonly<Record<string, Rate>>;

/** A processor's request for events. */
export interface ClaimRequest extends Scope {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How long the new leases last, in milliseconds. */
  readonly leaseMs: number;
  /** With `true`, each entity has at most one live lease, and its events are claimed in order. */
  readonly ordered: boolean;
  /**
   * Leases whose handlers are still running. The claim renews those that have run out.
   *
   * @defaultValue none
   */
  readonly holds?: readonly Lease[];
  /**
   * Other processors' leases that end before this time count as expired. After a suspension or a full disk, this is
   * when the process could last write. In milliseconds since 1970.
   *
   * @defaultValue `now`
   */
  readonly expiredBy?: number;
  /**
   * Processors seen since this time count as running, so events of their types hold back newer events of the entity. In
   * milliseconds since 1970.
   *
   * @defaultValue ten minutes before `now`
   */
  readonly handledSince?: number;
  /**
   * How many more events of each type the caller can take. `'*'` is the total for all types without their own handler.
   */
  readonly room?: Readonly<Record<string, number>>;
  /** How often attempts of each type may begin. `'*'` is the rate of all types without their own handler together. */
  readonly rates?: Rates;
  /**
   * How long the attempt of a probe may take, by type, in milliseconds.
   *
   * @defaultValue `leaseMs`
   */
  readonly probes?: Readonly<Record<string, number>>;
  /** The types of which only the newest waiting event of an entity runs. */
  readonly latest?: LatestTypes;
}

/** By type; `'*'` for types without their own handler. `null`: each event is handled. */
export type LatestTypes = Readonly<Record<string, Quiet | null>>;

/** How long the newest event waits for a newer one, in milliseconds. */
export interface Quiet {
  readonly quietMs: number;
  /** At most this long after the oldest waiting one has arrived. */
  readonly maxMs: number;
}

/** Asks the inbox to store a new event in the state `processing`, if no other event must be handled first. */
export type StartRequest = Pick<ClaimRequest, 'now' | 'leaseMs' | 'ordered'>;

/** The number of events with the same endpoint and type. */
export interface TypeCount {
  readonly endpoint: string;
  readonly type: string;
  readonly count: number;
  /** `true` if the count reached its limit and more events exist. */
  readonly more: boolean;
}

/** The result of {@link WorkQueue} `announce`. */
export interface Announced {
  /** The events that this call set to ignored. */
  readonly ignored: readonly Omit<TypeCount, 'more'>[];
  /** `true` if work is left; in that case, call `announce` again soon. */
  readonly more: boolean;
}

/** Events that have been pending for ten minutes and that no running processor handles. */
export interface UnhandledType extends TypeCount {
  /** When a processor that handles these events was last seen. `null` if no processor ever handled this endpoint. */
  readonly since: Date | null;
}

/** The identity under which a processor announces itself. */
export interface ProcessorIdentity {
  /** Unique among all processors. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
}

/** A running processor. */
export interface RunningProcessor extends Scope {
  /** The process id and a random word. */
  readonly name: string;
  readonly startedAt: Date;
  /**
   * When the processor last announced itself, which it does every five minutes. It counts as gone after ten minutes.
   */
  readonly seenAt: Date;
}

/** The running processors and the handled types. */
export interface ProcessorsSeen {
  /** Running processors, in order of their start. */
  readonly processors: readonly RunningProcessor[];
  /**
   *  When a processor that handles this endpoint and type was last seen. `'*'` stands for all endpoints or all types.
   */
  readonly handled: readonly { readonly endpoint: string; readonly type: string; readonly seenAt: Date }[];
}

/** Events that were set to ignored because no processor handled their type. */
export interface IgnoredType extends TypeCount {
  /** `true` if a running processor handles this type now. */
  readonly handled: boolean;
}

/** An event under a lease. */
export interface ClaimedEvent extends EventKey {
  readonly lease: Lease;
  readonly body: Uint8Array;
  readonly verified: boolean;
  readonly receivedAt: Date;
  /** The number of this attempt, starting at 1. */
  readonly attempt: number;
  /** How many times the event has failed since it was stored or rerun. */
  readonly failures: number;
  /** `true` if a newer event of its entity was already processed. */
  readonly superseded: boolean;
  /** Set if the event probes for its type, whose breaker is open. */
  readonly isProbe?: true;
  /** The trace context of the delivery. Absent without tracing. */
  readonly trace?: string;
}

/** The error of an attempt, truncated if it is long. */
export interface AttemptError {
  /** The name of the error class, or the type of the thrown value. */
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
}

/** An attempt whose lease ran out. */
export interface CrashedEvent extends EventKey {
  readonly type: string | null;
  readonly attempt: number;
  /** `null` if the handler will run again. */
  readonly deadReason: DeadReason | null;
  /** When the handler will run again, in milliseconds since 1970. `null` if the event is dead. */
  readonly dueAt: number | null;
  /** `null` unless the handler committed the transaction itself. */
  readonly error: AttemptError | null;
  /**
   * Set if the processor that held the lease was closing. The attempt counts as interrupted, and the handler will run
   * again.
   */
  readonly wasClosing?: true;
}

/** Called with the crashed attempts that a claim found, after the claim is durable. */
export type TellCrashed = (crashed: readonly CrashedEvent[]) => void;

/** Events that a claim superseded (`latest`). */
export interface Superseded {
  readonly endpoint: string;
  readonly type: string | null;
  readonly count: number;
}

/** The result of `WorkQueue.settle`. */
export type Settled = boolean | 'committed alone' | BreakerNews;

/** What the end of an attempt did to the breaker of its type. The attempt's end is written. */
export type BreakerNews = 'breaker opened' | 'probe failed' | 'breaker closed';

/** How an attempt ended, and the last lines that its handler logged. `breaker`: set if it counts for a breaker. */
export type Settlement = { readonly breaker?: BreakerEnd } & Pick<Attempt, 'log' | 'limit' | 'processor'> &
  /** `skipped`: the reason that the handler gave for skipping the event. */
  (
    | { readonly outcome: 'processed'; readonly skipped?: string }
    /**
     * `yields`: newer events of its entity do not wait for it. `isUncounted`: the attempt is not one of the event's
     * failures. `pauseUntil`: the end of a pause of its type.
     */
    | {
        readonly outcome: 'retry';
        readonly error: AttemptError;
        readonly dueAt: number;
        readonly yields?: boolean;
        readonly isUncounted?: boolean;
        readonly pauseUntil?: number;
      }
    | {
        readonly outcome: 'dead';
        readonly reason: 'failed' | 'invalid';
        readonly error: AttemptError;
        readonly pauseUntil?: number;
      }
    /** The attempt does not count, because `close()` ended it or the database file is unavailable. */
    | { readonly outcome: 'interrupted'; readonly dueAt?: number }
    /**
     * The transaction already committed, so only the lease ends. `error`: the error that the handler threw afterwards.
     */
    | { readonly outcome: 'committed'; readonly error?: AttemptError }
  );

/** A line that a handler wrote to `ctx.log`. */
export interface LogLine {
  /** Milliseconds since the attempt began. */
  readonly afterMs: number;
  readonly level: 'info' | 'warn' | 'error';
  /** The message and the fields, on one line; truncated if it is long. */
  readonly text: string;
}

/** One stored attempt. */
export interface Attempt {
  readonly number: number;
  /** `manual` for the first attempt after a rerun. */
  readonly trigger: 'auto' | 'manual';
  /** `superseded`: the handler did not run, because a newer event was waiting (`latest`). */
  readonly outcome: 'processed' | 'failed' | 'crashed' | 'interrupted' | 'superseded';
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** A processed attempt has an error if its handler threw after the commit. */
  readonly error: AttemptError | null;
  /** Why the handler skipped the event, if it did, or which event superseded it. */
  readonly skipped?: string;
  /** The last lines that the handler logged. Absent if it logged none. */
  readonly log?: readonly LogLine[];
  /**
   * The event becomes dead if the attempt with this number fails. Higher after a rerun, and after an attempt that used
   * up none. Absent in inline mode, for a crash, and if no handler ran.
   */
  readonly limit?: number;
  /** The name of the processor that ran the handler. Absent for a crash, and if no handler ran. */
  readonly processor?: string;
}

/** A part of a handler that `ctx.once` has run. */
export interface DoneStep {
  readonly name: string;
  /** The number of the attempt that ran it. */
  readonly attempt: number;
  readonly at: Date;
  /** The JSON of its result. `null` if the result is `undefined`. */
  readonly result: string | null;
}

/** The attempt that requests a transaction. */
export interface TransactionAttempt extends Pick<Attempt, 'limit' | 'processor'> {
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Aborted when the processor gives up the attempt. `work` then loses its connection and its locks. */
  readonly givenUp?: AbortSignal | undefined;
  /** Called after `work`: returns why the handler skipped the event, if it did. */
  readonly skipped?: (() => string | undefined) | undefined;
  /** Called after the commit if `work` sent no statement. */
  readonly unused?: (() => void) | undefined;
  /** Called after `work`: returns the last lines that the handler logged. */
  readonly log?: (() => readonly LogLine[]) | undefined;
}

/**
 * The part of an inbox that processors use. Each call is atomic, and durable when its promise resolves.
 *
 * @typeParam Database - the database that a handler's transaction uses
 */
export interface WorkQueue<Database = DefaultDatabase> {
  /**
   * Claims up to `limit` due events, oldest first, and releases expired leases. If the clock was set back, the call
   * first moves earlier leases and due times back by the same amount.
   *
   * @param tellFull - called if a type has reached its rate, with the time at which its next attempt may begin
   * @param tellSuperseded - called with the numbers of events that newer ones superseded, once the claim is durable
   */
  claim(
    request: ClaimRequest,
    limit: number,
    tell?: TellCrashed,
    tellFull?: (freeAt: number) => void,
    tellSuperseded?: (superseded: readonly Superseded[]) => void,
  ): Promise<readonly ClaimedEvent[]>;
  /**
   * Claims one event for inline mode. Returns `busy` if a live lease holds the event or its entity, if its type has
   * reached its rate, or if a handler paused its type for a time, and `settled` if the event need not be handled or an operator paused its type.
   */
  claimOne(key: EventKey, request: ClaimRequest, tell?: TellCrashed): Promise<ClaimedEvent | 'busy' | 'settled'>;
  /**
   * Renews leases and returns those still held. An expired lease is held until another processor takes over its event.
   *
   * @param isClosing - `true` if the processor is closing; if the lease then expires, the attempt counts as interrupted
   */
  renew(leases: readonly Lease[], now: number, leaseMs: number, isClosing?: boolean): Promise<readonly Lease[]>;
  /**
   * Ends an attempt and its lease. Returns `false` if another processor has taken over the event. Returns `committed
   * alone` if the function in `ctx.transaction` sent COMMIT itself; the event is then dead.
   */
  settle(lease: Lease, settlement: Settlement, now: number): Promise<Settled>;
  /**
   * Runs `work` and marks the event as processed in one transaction. The lease then blocks the entity until `settle`
   * ends the attempt as `committed` or the lease runs out.
   *
   * @throws TransactionError, or the error of `work` or of the commit; nothing is committed unless `work` ended the
   * transaction itself
   */
  transaction<T>(lease: Lease, work: (database: Database) => T, attempt: TransactionAttempt): Promise<T>;
  /** Returns what `ctx.once` has run for an event, oldest first. */
  steps(key: EventKey): Promise<readonly DoneStep[]>;
  /**
   * Keeps the result of a step; a second call for the same name changes nothing. Returns `false` if another processor
   * has taken over the event, or if the event is processed.
   */
  keepStep(lease: Lease, step: Pick<DoneStep, 'name' | 'result'>, now: number): Promise<boolean>;
  /**
   * Returns when the next event of a scope is due or the next lease expires, in milliseconds since 1970. Leaves out
   * paused types. Returns `null` if there is neither.
   */
  nextDue(scope: Scope): Promise<number | null>;
  /**
   * Records the types that this processor handles, and checks events that are waiting for other events. With
   * `ignoreBefore`, also ignores events that were due before that time and whose type no processor has handled since
   * then or in the last seven days. Each call does a limited part of the work; repeat it while `more` is `true`.
   *
   * @param processor - the processor to record, which `processors` then lists
   */
  announce(scope: Scope, now: number, ignoreBefore: number | null, processor?: ProcessorIdentity): Promise<Announced>;
  /** Removes a processor from `processors` when it ends. */
  leave(processor: string): Promise<void>;
  /** Returns the running processors, and for each type, when a processor that handles this type was last seen. */
  processors(now: number): Promise<ProcessorsSeen>;
  /**
   * Counts, by endpoint and type, the pending events that no running processor handles. A processor seen since
   * `handledSince` counts as running; by default ten minutes before `now`. In milliseconds since 1970.
   */
  unhandled(now: number, handledSince?: number): Promise<readonly UnhandledType[]>;
  /** Counts, by endpoint and type, the events that were ignored at or after `since`. In milliseconds since 1970. */
  ignoredSince(scope: Scope, since: number, now: number): Promise<readonly IgnoredType[]>;
  /** Calls `listener` when this inbox has stored an event that may be due. Returns a function that removes it. */
  onPending(listener: () => void): () => void;
  /** Returns the attempts of an event, oldest first. */
  attempts(key: EventKey): Promise<readonly Attempt[]>;
  /**
   * Sets a dead, ignored or discarded event back to pending. Returns `false` for an event in any other state.
   *
   * @param content - from the event's body, parsed with the current schemas
   * @param readFrom - the body that `content` was parsed from; if the stored body has changed since, nothing changes
   */
  rerun(
    key: EventKey,
    content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
    now: number,
    readFrom?: Uint8Array,
  ): Promise<boolean>;
  /** Turns up to `limit` events that were processed before `processedBefore` into tombstones. Returns their number. */
  prune(endpoints: Scope['endpoints'], processedBefore: number, limit: number): Promise<number>;
}

/** The database type that a handler's transaction uses by default: SQLite's. */
export type DefaultDatabase = SqliteDatabase;
