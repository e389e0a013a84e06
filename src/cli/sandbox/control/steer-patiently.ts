import { clearTimeout, setTimeout } from '../../../host/real-timers.ts';
import { oneLine } from '../../../printable.ts';
import { tell } from '../../shared/output.ts';
import type { Act, UnderWay } from './acts.ts';
import { steer } from './control-client.ts';

const LOOK_EVERY_MS = 1_000;

/**
 * Steers as `steer` does, for what waits for the answers of receivers: says for whom it waits, once for each try that
 * takes longer than a moment.
 *
 * @throws CommandError that says what to do
 */
export async function steerPatiently<Result>(at: string, act: Act): Promise<Result> {
  const told = new Set<string>();
  let before: ReadonlySet<string> = new Set();
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    // A sandbox that does not answer fails the action itself.
    const waiting = await steer<readonly UnderWay[]>(at, { act: 'under-way' }).catch(() => []);
    if (isOver) return;
    for (const one of waiting) {
      if (!before.has(keyOf(one)) || told.has(keyOf(one))) continue;
      told.add(keyOf(one));
      tell(waitText(one));
    }
    before = new Set(waiting.map(keyOf));
    timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  }

  timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  try {
    return await steer<Result>(at, act);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

function keyOf({ delivery, number }: UnderWay): string {
  return `${delivery}/${number}`;
}

function waitText({ url, type, event, number }: UnderWay): string {
  const whom = url ?? 'a receiver in code';
  return `Waiting for ${whom} to answer ${oneLine(type)} ${event} (attempt ${number}). An attempt fails after 10 s without an answer.`;
}
