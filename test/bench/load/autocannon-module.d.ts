// autocannon ships no types; this declares the few members that the load uses.
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  interface Client {
    /** The bytes written for the next request; replaced here by prebuilt ones. */
    getRequestBuffer: () => Uint8Array;
  }

  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration: number;
    readonly method: 'POST';
    readonly sampleInt: number;
    readonly overallRate?: number;
    readonly setupClient: (client: Client) => void;
  }

  interface Result {
    readonly errors: number;
  }

  interface Instance extends EventEmitter, PromiseLike<Result> {
    stop(): void;
  }

  export default function autocannon(options: Options): Instance;
}
