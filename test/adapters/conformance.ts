/**
 * What every HTTP adapter does, in cases that know only HTTP and the inbox behind it. The test of an adapter says how
 * to serve a receiver with it, and hands that to `testHttpAdapter`.
 */
import { describe, expect, it } from 'vitest';
import { createReceiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory.ts';
import { answerCases } from './conformance/answers.ts';
import { bodyCases } from './conformance/bodies.ts';
import { connectionCases } from './conformance/connections.ts';
import { interruptionCases } from './conformance/interruptions.ts';
import { signatureCases } from './conformance/signatures.ts';
import { unavailableCases } from './conformance/unavailable.ts';
import type { HttpAdapterCase, Mount, Open } from './http-adapter-case.ts';
import { recordedLog } from './recorded-log.ts';
import { SECRET } from './signed-event.ts';

/** Generous: the longest case waits for a connection to be let go after its linger time. */
const CASE_LIMIT_MS = 15_000;

const ROOMS: readonly (readonly [room: string, cases: readonly HttpAdapterCase[]])[] = [
  ['the answer', answerCases],
  ['when nothing can be stored now', unavailableCases],
  ['the signature', signatureCases],
  ['the body', bodyCases],
  ['the connection', connectionCases],
  ['a body that does not arrive as announced', interruptionCases],
];

/** Runs every case against an adapter, each on a server of its own. */
export function testHttpAdapter(name: string, mount: Mount): void {
  describe(name, () => {
    const open = opener(mount);
    for (const [room, cases] of ROOMS) {
      describe(room, () => {
        it.each(cases)('$name', { timeout: CASE_LIMIT_MS }, async ({ run }) => {
          expect.hasAssertions();
          await run(open);
        });
      });
    }
  });
}

function opener(mount: Mount): Open {
  return async (options = {}) => {
    const { logger, lines } = recordedLog();
    const inbox = options.inbox ?? memoryInbox();
    const secret = options.unsafeUnsigned === true ? {} : { secret: SECRET };
    const receiver = createReceiver({ ...secret, logger, ...options, inbox });
    const { url, close } = await mount(receiver);
    return {
      url,
      receiver,
      inbox,
      log: lines,
      async [Symbol.asyncDispose]() {
        await close();
        await receiver.close();
        await inbox.close();
      },
    };
  };
}
