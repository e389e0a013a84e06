import { expect } from 'vitest';
import { signedEvent } from '../../helpers/signed-event.ts';
import type { HttpAdapterCase } from '../http-adapter-case.ts';
import { send } from '../wire.ts';

const PARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

export const traceCases: readonly HttpAdapterCase[] = [
  {
    name: 'hands over the trace that the headers name, however these are written',
    async run(served) {
      const { body, headers } = signedEvent();

      await send(served.url, { body, headers: [...headers, ['TraceParent', PARENT], ['Tracestate', 'shop=7,till=2']] });
      await send(served.url, signedEvent());

      expect((await served.tally()).traces).toEqual([
        [PARENT, 'shop=7,till=2'],
        [null, null],
      ]);
    },
  },
  {
    name: 'hands over both values of a state that comes in two headers, in their order',
    needs: ['all values of a header'],
    async run(served) {
      const { body, headers } = signedEvent();
      const state = [
        ['tracestate', 'shop=7'],
        ['tracestate', 'till=2'],
      ] as const;

      await send(served.url, { body, headers: [...headers, ['traceparent', PARENT], ...state] });

      expect((await served.tally()).traces).toEqual([[PARENT, expect.stringMatching(/^shop=7, ?till=2$/)]]);
    },
  },
];
