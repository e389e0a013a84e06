import type { MessagePort } from 'node:worker_threads';
import type { ReadName } from '../jobs.ts';
import type { FailureData } from './failure-data.ts';
import type { Loading } from './loading.ts';
import type { PackedMoves } from './packed-moves.ts';

/** What a thread is started with. */
export interface ThreadStart {
  readonly file: string;
  readonly loading: Loading;
}

/** What a thread can be asked for; it answers each. */
export type Request =
  /** `isAgain`: it is known that a group before it has found the file busy */
  | ({ readonly kind: 'commit'; readonly isAgain: boolean } & PackedMoves)
  | { readonly kind: 'read'; readonly name: ReadName; readonly given: readonly unknown[] }
  | {
      readonly kind: 'operate';
      readonly name: string;
      readonly given: readonly unknown[];
      /** whoever asks can abort it, and wants to hear of its progress */
      readonly asking?: boolean;
    }
  /** answered with the number of the loan, when it is lent */
  | { readonly kind: 'borrow' }
  /** answered when most of the log is copied, with `isUseful` of `log-copied` */
  | { readonly kind: 'copy-log' };

/** What a thread is told, without an answer. */
export type Notice =
  | { readonly kind: 'back'; readonly loan: number }
  /** the answer to `long-log`; `isUseful`: the writer is to copy the rest */
  | { readonly kind: 'log-copied'; readonly isUseful: boolean }
  /** another thread wants to borrow the lock by this port, or can borrow it */
  | { readonly kind: 'lock'; readonly port: MessagePort }
  /** whoever has asked waits no more */
  | { readonly kind: 'abort'; readonly id: number }
  | { readonly kind: 'close' };

export type ToThread = (Request & { readonly id: number }) | Notice;

export type FromThread =
  /** it has loaded everything */
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: FailureData }
  | { readonly kind: 'progress'; readonly id: number; readonly progress: unknown }
  /** events may have become due */
  | { readonly kind: 'pending' }
  /** the checkpoint thread is to copy the log */
  | { readonly kind: 'long-log' };
