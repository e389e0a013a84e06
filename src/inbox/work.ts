import type { EventKey, IncomingEvent, DeadReason } from './event.ts';
import type { SqliteDatabase } from './sqlite/opening/database.ts';

/**
 * The right of one processor to run the handler of one event for a limited time. The fence grows with each claim, so it
 * identifies the current holder.
 */
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
  /** If `types` is `'*'`, the types that have their own handler. Metrics count the events of these types separately. */
  readonly named?: readonly string[];
}

/** Everything there is. */
export const EVERYTHING: Scope = { endpoints: '*', types: '*' };

/** A processor's request for events. */
export interface ClaimRequest extends Scope {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How long the new leases last, in milliseconds. */
  readonly leaseMs: number;
  /** With `true`, each entity has at most one live lease, and its events are claimed in order. */
  readonly ordered: boolean;
  /**
   * Leases that the caller holds and whose handlers are still running. The claim renews those of these leases that have
   * run out.
   *
   * @defaultValue none
   */
  readonly holds?: readonly Lease[];
  /**
   * Other processors' leases that end before this time are treated as having run out. If the process was suspended or
   * unable to write, this is the last time at which the process was able to write. In milliseconds since 1970.
   *
   * @defaultValue `now`
   */
  readonly expiredBy?: number;
  /**
   * Processors seen since this time count as running. An older event of a type that one of these processors handles
   * holds back newer events of its entity. In milliseconds since 1970.
   *
   * @defaultValue ten minutes before `now`
   */
  readonly handledSince?: number;
  /**
   * How many more events of each type the caller can take. `'*'` is the total for all types without their own handler.
   * A type that is not listed has no limit.
   */
  readonly room?: Readonly<Record<string, number>>;
}

/**
 * A receiver whose processor has room for a new event sends this request with the event. The request asks the inbox to
 * store the event in the state `processing`, under a lease, if no other event must be handled first.
 */
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
  /**
   * When a processor that handles these events was last seen. `null` if processors are running, but no processor has
   * ever handled this endpoint.
   */
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
   * When the processor last announced itself. A processor announces itself every five minutes, and counts as gone after
   * ten minutes without an announcement.
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
   * Set if the processor that held the lease was closing. The attempt then counts as interrupted, not as crashed, and
   * the handler will run again.
   */
  readonly wasClosing?: true;
}

/** Called with the crashed attempts that a claim found, after the claim is durable. */
export type TellCrashed = (crashed: readonly CrashedEvent[]) => void;

/** The result of `WorkQueue.settle`. */
export type Settled = boolean | 'committed alone';

/** How an attempt ended. */
export type Settlement =
  /** `skipped`: the reason that the handler gave for skipping the event. */
  | { readonly outcome: 'processed'; readonly skipped?: string }
  /** `yields`: newer events of its entity do not wait for it. */
  | { readonly outcome: 'retry'; readonly error: AttemptError; readonly dueAt: number; readonly yields?: boolean }
  | { readonly outcome: 'dead'; readonly reason: 'failed' | 'invalid'; readonly error: AttemptError }
  /** The attempt does not count, because `close()` ended it or the database file is unavailable. */
  | { readonly outcome: 'interrupted'; readonly dueAt?: number }
  /**
   * Its transaction already committed, so the event is processed and only its lease ends. `error`: the error that the
   * handler threw afterwards.
   */
  | { readonly outcome: 'committed'; readonly error?: AttemptError };

/** One stored attempt. */
export interface Attempt {
  readonly number: number;
  /** `manual` for the first attempt after a rerun. */
  readonly trigger: 'auto' | 'manual';
  readonly outcome: 'processed' | 'failed' | 'crashed' | 'interrupted';
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** The error, if any. A processed attempt has an error if its handler threw after the commit. */
  readonly error: AttemptError | null;
  /** Why the handler skipped the event, if it did. */
  readonly skipped?: string;
}

/** The attempt that requests a transaction. */
export interface TransactionAttempt {
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Aborted when the processor gives up the attempt. When this happens, `work` loses its connection and its locks. */
  readonly givenUp?: AbortSignal | undefined;
  /** Called after `work`: returns why the handler skipped the event, if it did. */
  readonly skipped?: (() => string | undefined) | undefined;
}

/**
 * The part of an inbox that processors use. Each call is atomic, and its changes are durable when its promise resolves.
 *
 * @typeParam Database - the database that a handler's transaction uses
 */
export interface WorkQueue<Database = DefaultDatabase> {
  /**
   * Claims up to `limit` due events, oldest first. The call also releases leases that have run out. If the clock was
   * set back, the call first moves leases and due times from before the change back by the same amount.
   */
  claim(request: ClaimRequest, limit: number, tell?: TellCrashed): Promise<readonly ClaimedEvent[]>;
  /**
   * Claims one event for inline mode. Returns `busy` if a live lease holds the event or its entity. Returns `settled`
   * if the event does not need to be handled, or if its type is paused. Releases only leases of this event and its
   * entity, if these leases have run out.
   */
  claimOne(key: EventKey, request: ClaimRequest, tell?: TellCrashed): Promise<ClaimedEvent | 'busy' | 'settled'>;
  /**
   * Renews leases and returns those still held. A lease that has run out is still held until another processor takes
   * over its event.
   *
   * @param isClosing - `true` if the processor is closing; an attempt whose lease then runs out counts as interrupted,
   * not as crashed
   */
  renew(leases: readonly Lease[], now: number, leaseMs: number, isClosing?: boolean): Promise<readonly Lease[]>;
  /**
   * Ends an attempt and its lease, even if the lease ran out, unless another processor has taken over the event. In
   * that case, `settle` changes nothing and returns `false`. Returns `committed alone` if the function in
   * `ctx.transaction` sent COMMIT itself; the event is then dead.
   */
  settle(lease: Lease, settlement: Settlement, now: number): Promise<Settled>;
  /**
   * Runs `work` and marks the event as processed in one transaction. The lease then blocks the entity until `settle`
   * ends the attempt as `committed` or the lease runs out.
   *
   * @throws TransactionError, or the error of `work` or of the commit; in each case, nothing is committed unless `work`
   * ended the transaction itself
   */
  transaction<T>(lease: Lease, work: (database: Database) => T, attempt: TransactionAttempt): Promise<T>;
  /**
   * Returns the time when the next event of a scope is due or the next lease runs out, in milliseconds since 1970.
   * Events of paused types do not count. Returns `null` if there is no such event or lease.
   */
  nextDue(scope: Scope): Promise<number | null>;
  /**
   * Records the types that this processor handles, and checks events that are waiting for other events. With
   * `ignoreBefore`, the call also sets events of these endpoints to ignored if they were due before that time and no
   * processor has handled their type since then or in the last seven days. Each call does a limited part of the work;
   * repeat the call while `more` is `true`.
   *
   * @param processor - the processor to record, which `processors` then lists
   */
  announce(scope: Scope, now: number, ignoreBefore: number | null, processor?: ProcessorIdentity): Promise<Announced>;
  /** Removes a processor from `processors` when it ends. */
  leave(processor: string): Promise<void>;
  /** Returns the running processors, and for each type, when a processor that handles this type was last seen. */
  processors(now: number): Promise<ProcessorsSeen>;
  /**
   * Counts, by endpoint and type, the pending events that no running processor handles. `handledSince` is in milliseconds
   * since 1970, ten minutes before `now` by default. A processor seen since then counts as running.
   */
  unhandled(now: number, handledSince?: number): Promise<readonly UnhandledType[]>;
  /**
   * Counts, by endpoint and type, the events that were set to ignored at or after `since` because they had no handler.
   * `since` and `now` are in milliseconds since 1970.
   */
  ignoredSince(scope: Scope, since: number, now: number): Promise<readonly IgnoredType[]>;
  /**
   * Calls `listener` when this inbox has stored an event that may be due. Returns a function that removes the listener.
   */
  onPending(listener: () => void): () => void;
  /** Returns the attempts of an event, oldest first. */
  attempts(key: EventKey): Promise<readonly Attempt[]>;
  /**
   * Sets a dead, ignored or discarded event back to pending. `content` comes from the body of the event, parsed with
   * the current schemas. Returns `false` for an event in any other state.
   *
   * @param readFrom - the body that `content` was parsed from; if the stored body has been replaced since, nothing
   * changes
   */
  rerun(
    key: EventKey,
    content: Pick<IncomingEvent, 'type' | 'created' | 'entity'>,
    now: number,
    readFrom?: Uint8Array,
  ): Promise<boolean>;
  /**
   * Turns up to `limit` events of these endpoints into tombstones, if they were processed before `processedBefore`.
   * Returns the number of new tombstones; 0 if no such events are left.
   */
  prune(endpoints: Scope['endpoints'], processedBefore: number, limit: number): Promise<number>;
}

/** The database type that a handler's transaction uses by default: SQLite's. */
export type DefaultDatabase = SqliteDatabase;
