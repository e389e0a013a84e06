import * as hookbox from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import type { Open } from './http-adapter-case.ts';
import type { ReceiverSetup } from './receiver-setup.ts';
import { receiverUnderTest, type HookboxParts, type ReceiverUnderTest } from './receiver-under-test.ts';
import { SECRET } from '../helpers/signed-event.ts';

export type Mount = (
  receiver: ReceiverUnderTest['receiver'],
  setup: Pick<ReceiverSetup, 'bodyReadBefore'>,
) => Promise<{ readonly url: string } & AsyncDisposable>;

const parts: HookboxParts = { ...hookbox, memoryInbox, sqliteInbox };

export function inProcess(mount: Mount): Open {
  return async (setup = {}) => {
    const { receiver, controls } = receiverUnderTest(parts, { secret: [SECRET], ...setup });
    const mounted = await mount(receiver, setup);
    return {
      url: mounted.url,
      ...controls,
      async [Symbol.asyncDispose]() {
        await mounted[Symbol.asyncDispose]();
        await controls.dispose();
      },
    };
  };
}
