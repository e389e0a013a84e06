import { z } from 'zod';
import { runProcess } from './run-process.ts';

/** What verifying and parsing one event costs with one library. */
export type VerifyAndParseTime = z.infer<typeof times>[number];

const times = z.array(z.object({ name: z.string(), title: z.string(), microseconds: z.number() }));

/** The second table, measured in a process of its own so that no other code has shaped the compiled one. */
export async function measureVerifyAndParse(rounds: number): Promise<VerifyAndParseTime[]> {
  return times.parse(await runProcess(new URL('verify-and-parse/measure.ts', import.meta.url), [String(rounds)]));
}
