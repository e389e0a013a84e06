import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Inbox } from '../../src/inbox/contract.ts';
import { createProcessor, type Processor } from '../../src/processing/processor.ts';
import { own, type OwnEvent } from '../helpers/own-events.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { rest, VirtualClock } from '../helpers/virtual-clock.ts';

export const KEY = { endpoint: 'default', id: 'evt_1' };
export const points = z.object({ points: z.number() });

/** A processor over an inbox, and what its handlers were given. */
export function shopOver(inbox: Inbox) {
  const clock = new VirtualClock();
  const { logger, lines } = recordedLog();
  const given: OwnEvent[] = [];
  const keep = (event: OwnEvent): void => void given.push(event);
  onTestFinished(() => inbox.close());

  async function start(schemas: Parameters<typeof own>[0], handlers: Parameters<typeof own>[1] = {}) {
    const all = own(schemas, Object.keys(handlers).length > 0 ? handlers : { '*': keep });
    const processor: Processor = createProcessor({ inbox, clock, logger, ...all });
    await processor.start();
    await rest();
    onTestFinished(async () => {
      const closing = processor.close();
      await clock.advance(11_000);
      await closing;
    });
    return processor;
  }
  const states = async () => {
    const event = await inbox.get(KEY);
    return [event?.state, event?.deadReason, (await inbox.attempts(KEY)).length];
  };
  const inTurn = () => given.toSorted((a, b) => a.id.localeCompare(b.id));
  return { inbox, clock, lines, given, inTurn, keep, start, states };
}
