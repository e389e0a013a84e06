import { startLoad, type Generator, type Load, type LoadMeasurement } from './generator.ts';

/** Two seconds that differ by less are steady. */
const STEADY = 0.05;

/** How a server was warmed up. */
export interface WarmUp extends LoadMeasurement {
  /** Two seconds in a row were as fast, before the time was up. */
  readonly steady: boolean;
}

/** Full load until the rate is steady: `leastSeconds` at least, `load.seconds` at most. */
export async function warmUp(generator: Generator, load: Load, leastSeconds: number): Promise<WarmUp> {
  let steady = false;
  let before = { sent: 0, at: 0, rate: 0 };
  const running = await startLoad(generator, load, (sent, at) => {
    const rate = (sent - before.sent) / (at - before.at);
    const change = Math.abs(rate - before.rate) / Math.max(rate, before.rate);
    before = { sent, at, rate };
    if (at < leastSeconds || change > STEADY) return;
    steady = true;
    running.stop();
  });
  return { ...(await running.ended), steady };
}
