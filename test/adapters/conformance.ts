/** The same cases run in the process of the tests and against servers on other runtimes. */
import { afterAll, describe, it } from 'vitest';
import { answerCases } from './conformance/answers.ts';
import { bodyCases } from './conformance/bodies.ts';
import { closingCases } from './conformance/closing.ts';
import { connectionCases } from './conformance/connections.ts';
import { encodingCases } from './conformance/encodings.ts';
import { inlineCases } from './conformance/inline.ts';
import { interruptionCases } from './conformance/interruptions.ts';
import { signatureCases } from './conformance/signatures.ts';
import { slowClientCases } from './conformance/slow-clients.ts';
import { traceCases } from './conformance/traces.ts';
import { unavailableCases } from './conformance/unavailable.ts';
import type { HttpAdapterCase, Lacks, Need, Open } from './http-adapter-case.ts';
import { inProcess, type Mount } from './in-process.ts';

/** The longest case waits for the linger time of a connection. */
const CASE_LIMIT_MS = 15_000;

/** The longest first, because all run side by side. */
const ROOMS: readonly (readonly [room: string, cases: readonly HttpAdapterCase[]])[] = [
  ['a client that is too slow or never ends', slowClientCases],
  ['handlers that run inline', inlineCases],
  ['when nothing can be stored now', unavailableCases],
  ['a body that does not arrive as announced', interruptionCases],
  ['the connection', connectionCases],
  ['the end of the connection', closingCases],
  ['the answer', answerCases],
  ['the signature', signatureCases],
  ['the trace', traceCases],
  ['the body', bodyCases],
  ['an encoded body', encodingCases],
];

export interface Host {
  /** Such as `bun 1.4.5, hookbox/fetch`. */
  readonly name: string;
  readonly open: Open;
}

export function testHttpAdapter(name: string, mount: Mount, lacks?: Lacks): void {
  testHost(name, async () => ({ name, open: inProcess(mount) }), lacks);
}

/** Each test asks for the host, so that a missing runtime makes each of them fail. */
export function testHost(title: string, host: () => Promise<Host>, lacks: Lacks = {}): void {
  describe.concurrent(title, () => {
    afterAll(async () => console.log(summary((await host()).name, lacks)));

    for (const [room, cases] of ROOMS) {
      const applying = cases.filter(({ needs }) => lackingOf(needs, lacks) === undefined);
      if (applying.length === 0) continue;
      describe(room, () => {
        for (const { name, setup, run } of applying) {
          it(name, { timeout: CASE_LIMIT_MS }, async () => {
            const { open } = await host();
            await using served = await open(setup);
            await run(served);
          });
        }
      });
    }
  });
}

function lackingOf(needs: HttpAdapterCase['needs'], lacks: Lacks): Need | undefined {
  return needs?.find((need) => lacks[need] !== undefined);
}

function summary(name: string, lacks: Lacks): string {
  const cases = ROOMS.flatMap(([, cases]) => cases);
  const whys = Map.groupBy(cases, ({ needs }) => {
    const lacking = lackingOf(needs, lacks);
    return lacking === undefined ? undefined : lacks[lacking];
  });
  const ran = whys.get(undefined)?.length ?? 0;
  whys.delete(undefined);
  const reasons = Array.from(whys, ([why, { length }]) => `${length}: ${why}`);
  const rest = cases.length - ran;
  return `${name}: ${ran} cases, ${rest} do not apply${rest === 0 ? '' : ` (${reasons.join('; ')})`}`;
}
