import { delay, performance } from '../../host/real-timers.ts';
import { PermanentError } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import type { Attempt } from '../../inbox/work.ts';
import { rerun } from '../../ops/rerun.ts';
import { createProcessor } from '../../processing/processor.ts';
import { table } from '../shared/table.ts';
import type { DemoStore } from './demo-store.ts';

const PATIENCE_MS = 20_000;

/**
 * The second act: a handler that fails twice and then succeeds, an event that dies and is rerun once its handler is
 * mended, and effects that are committed together with the mark that their event is processed.
 */
export async function handleAll(inbox: Inbox, { writeEffect }: Pick<DemoStore, 'writeEffect'>): Promise<boolean> {
  let failuresLeft = 2;
  let mended = false;
  await using processor = createProcessor({
    inbox,
    logger: false,
    processing: { retry: { baseMs: 50 } },
    handlers: {
      'inventory.low_stock': () => {
        if (failuresLeft-- > 0) throw new Error('the warehouse did not answer');
      },
      'order.failed': () => {
        if (!mended) throw new PermanentError('no account for this merchant');
      },
      '*': async (event, ctx) => {
        await ctx.transaction((connection) => writeEffect(connection, event.id));
      },
    },
  });
  await processor.start();
  await settled(inbox);
  console.log('\nAfter handling: one event failed twice before it succeeded, and one is dead\n');
  await show(inbox);

  mended = true;
  const dead = (await inbox.list()).filter(({ state }) => state === 'dead');
  for (const event of dead) await rerun(inbox, event);
  await settled(inbox);
  console.log('\nThe dead event after its rerun\n');
  await show(inbox, dead);
  return isAsPromised(inbox, dead);
}

/** Waits until nothing is left to do. */
async function settled(inbox: Inbox): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const events = await inbox.list();
    if (events.every(({ state }) => state === 'processed' || state === 'dead')) return;
    if (performance.now() > giveUpAt) throw new Error('the handlers did not finish');
    await delay(20);
  }
}

async function show(inbox: Inbox, only?: readonly StoredEvent[]): Promise<void> {
  const shown = new Set(only?.map(({ seq }) => seq));
  const rows = [];
  for (const event of await inbox.list()) {
    if (only !== undefined && !shown.has(event.seq)) continue;
    const attempts = await inbox.attempts(event);
    rows.push([String(event.seq), event.type ?? '', event.state, attempts.map(described).join(', ')]);
  }
  table(['seq', 'type', 'state', 'attempts'], rows);
}

function described({ outcome, trigger, error }: Attempt): string {
  const by = trigger === 'manual' ? ' (rerun)' : '';
  return error === null ? `${outcome}${by}` : `${outcome}${by}: ${error.message}`;
}

/** Everything processed, with the attempts that were to be expected, and the rerun one after exactly one failure. */
async function isAsPromised(inbox: Inbox, dead: readonly StoredEvent[]): Promise<boolean> {
  const events = await inbox.list();
  const outcomes = new Map<string | null, string>();
  for (const event of events) {
    outcomes.set(event.type, (await inbox.attempts(event)).map(({ outcome }) => outcome).join(' '));
  }
  return (
    events.every(({ state }) => state === 'processed') &&
    dead.map(({ type }) => type).join() === 'order.failed' &&
    outcomes.get('inventory.low_stock') === 'failed failed processed' &&
    outcomes.get('order.failed') === 'failed processed' &&
    outcomes.get('order.created') === 'processed'
  );
}
