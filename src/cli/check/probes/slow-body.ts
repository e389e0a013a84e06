import { delay } from '../../../host/real-timers.ts';
import { fault, notTaken, outcome, type Advice } from '../judge-answers.ts';
import type { Probe } from './probe.ts';

const OTHERS = 3;
const PAUSE_MS = 1;

const WAITS_FOR_ONE: Advice = {
  why: 'One slow client delays the responses to all deliveries, so the deliveries fail.',
  mend: 'Serve requests concurrently: read bodies asynchronously, or run several workers behind the proxy.',
};
const GIVES_UP: Advice = {
  why: 'A body can arrive slowly over a bad network. This one took just over a second, yet the event would be lost.',
  mend: 'Read until the body ends: wait for the "end" event of the request, and do not treat the first chunk as the whole body.',
};

/** One body comes byte by byte and is held back before its end, until others were answered. */
export const slowBody: Probe = async (run) => {
  const { body, what } = run.event();
  const begun = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const slow = run.send(body, {
    patience: 3,
    async write(write, bytes) {
      const last = bytes.byteLength - 1;
      for (let at = 0; at < last; at++) {
        write(bytes.subarray(at, at + 1));
        if (at === last >> 1) begun.resolve();
        await delay(PAUSE_MS);
      }
      await answered.promise;
      write(bytes.subarray(last));
    },
  });
  await Promise.race([begun.promise, slow]);
  const others = await Promise.all(
    Array.from({ length: OTHERS }, async () => {
      const event = run.event();
      const sent = `${event.what}, while the body of another delivery arrives byte by byte`;
      const answer = await run.send(event.body);
      const isWaiting = answer.status === null && answer.failure === 'too-late';
      return isWaiting ? fault(sent, answer, WAITS_FOR_ONE) : notTaken(sent, answer);
    }),
  );
  answered.resolve();
  const late = await slow;
  return outcome([...others, notTaken(`${what}, with its body sent byte by byte`, late, GIVES_UP)]);
};
