export interface ByteSource {
  readonly stream: ReadableStream<Uint8Array>;
  readonly pulled: () => number;
  readonly cancelled: () => boolean;
}

export function sourceOf(parts: Iterable<Uint8Array>, then: 'close' | 'hang' | Error = 'close'): ByteSource {
  const iterator = parts[Symbol.iterator]();
  let pulled = 0;
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = iterator.next();
      if (done !== true) {
        pulled += 1;
        controller.enqueue(value);
        return undefined;
      }
      if (then === 'close') return controller.close();
      if (then === 'hang') return new Promise(() => {});
      return controller.error(then);
    },
    cancel() {
      cancelled = true;
    },
  });
  return { stream, pulled: () => pulled, cancelled: () => cancelled };
}

export function* endless(part: Uint8Array): Generator<Uint8Array> {
  for (;;) yield part;
}
