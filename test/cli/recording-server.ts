import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { listening } from './listening.ts';

/** One request as it came. */
export interface Recorded {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** on the clock of `performance.now()` */
  readonly at: number;
}

export interface RecordingServer {
  readonly url: string;
  /** in the order in which they were complete */
  readonly requests: readonly Recorded[];
  /** the most that were under way at the same time */
  readonly mostAtOnce: () => number;
  /** Goes away, as it does after the test by itself. */
  readonly close: () => Promise<void>;
}

/** Answers the request of an index, counted from 0. */
type Answering = (response: ServerResponse, index: number, request: Recorded) => unknown;

const accept: Answering = (response) => response.end('{"received":true,"duplicate":false,"id":"?"}');

/** A server that keeps what it is sent until the running test is over. */
export async function recordingServer(answer: Answering = accept, port = 0): Promise<RecordingServer> {
  const requests: Recorded[] = [];
  let underWay = 0;
  let most = 0;
  const server = await listening((request, response) => {
    underWay += 1;
    most = Math.max(most, underWay);
    response.on('close', () => (underWay -= 1));
    void buffer(request).then((body) => {
      const { method, headers } = request;
      const recorded = { method, headers, body, at: performance.now() };
      requests.push(recorded);
      return answer(response, requests.length - 1, recorded);
    });
  }, port);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= server.close());
  onTestFinished(close);
  return { url: server.url, requests, mostAtOnce: () => most, close };
}

/** Answers each request with the status of its index, and with the last one from there on. */
export function statuses(...all: readonly number[]): Answering {
  return (response, index) => response.writeHead(all[index] ?? all.at(-1) ?? 200).end();
}
