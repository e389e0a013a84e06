import { describe, expect, it } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import type { HandlerContext } from '../../src/processing/handlers.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { rest, VirtualClock } from '../helpers/virtual-clock.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };

type Handle = (ctx: HandlerContext) => unknown;

async function started(handle: Handle, inbox: Inbox = memoryInbox()) {
  const clock = new VirtualClock();
  await store(inbox, orderEvent('evt_1'));
  const handlers = { '*': (_: unknown, ctx: HandlerContext) => handle(ctx) };
  const processing = { retry: { attempts: 4, baseMs: 1_000, maxMs: 1_000 } };
  const processor = createProcessor({ inbox, clock, handlers, processing, logger: false });
  await processor.start();
  await rest();
  const ended = async () =>
    (await inbox.attempts(KEY)).map(({ outcome, error }) => (error === null ? outcome : error.message));
  const kept = async () => (await inbox.steps(KEY)).map(({ name, result, attempt }) => [name, result, attempt]);
  return { clock, inbox, processor, ended, kept };
}

/** Fails in the first attempts. */
function failing(attempts: number, handle: Handle): Handle {
  return async (ctx) => {
    await handle(ctx);
    if (ctx.attempt <= attempts) throw new Error('fails');
  };
}

describe('ctx.once', () => {
  it('runs a step once, and gives its result to all attempts', async () => {
    const acts: string[] = [];
    const results: unknown[] = [];
    const { clock, ended, kept, processor } = await started(
      failing(2, async (ctx) => {
        const mail = await ctx.once('mail', async () => {
          acts.push('mail');
          return { id: 'msg_1', left: undefined, to: ['ada'] };
        });
        const nothing = await ctx.once('label', () => void acts.push('label'));
        results.push(ctx.attempt, mail, nothing);
      }),
    );
    await clock.advance(5_000);
    expect(await ended()).toEqual(['fails', 'fails', 'processed']);
    expect(acts).toEqual(['mail', 'label']);
    const mail = { id: 'msg_1', to: ['ada'] };
    expect(results).toStrictEqual([1, mail, undefined, 2, mail, undefined, 3, mail, undefined]);
    expect(await kept()).toEqual([
      ['mail', JSON.stringify(mail), 1],
      ['label', null, 1],
    ]);
    await processor.close();
  });

  it('keeps nothing of a step that throws, and runs it again', async () => {
    const { clock, ended, kept, processor } = await started((ctx) =>
      ctx.once('mail', () => {
        if (ctx.attempt === 1) throw new Error('no mail');
        return ctx.attempt;
      }),
    );
    expect(await kept()).toEqual([]);
    await clock.advance(2_000);
    expect([await ended(), await kept()]).toEqual([['no mail', 'processed'], [['mail', '2', 2]]]);
    await processor.close();
  });

  it('runs steps of different names at the same time', async () => {
    const { kept, processor } = await started((ctx) =>
      Promise.all(['a', 'b', 'c'].map((name) => ctx.once(name, async () => name))),
    );
    expect(await kept()).toEqual(['a', 'b', 'c'].map((name) => [name, `"${name}"`, 1]));
    await processor.close();
  });

  it.each<[string, unknown, RegExp]>([
    ['a date', { at: new Date() }, /"at" is an instance of a class/],
    ['a map', new Map(), /it is an instance of a class/],
    ['a function', () => {}, /it is a function/],
    ['a bigint', [1n], /"0" is a bigint/],
    ['not a number', { a: { b: Number.NaN } }, /"b" is NaN/],
    ['more than 64 KiB', '山'.repeat(22_000), /it has 66002 bytes/],
    ['a circle', circle(), /it refers to itself/],
  ])('refuses the result %s: nothing is kept, and the event is dead at once', async (_, result, message) => {
    const { ended, kept, inbox, processor } = await started((ctx) => ctx.once('mail', () => result));
    expect(await ended()).toEqual([expect.stringMatching(message)]);
    expect([await kept(), (await inbox.get(KEY))?.state]).toEqual([[], 'dead']);
    await processor.close();
  });

  it('keeps a result of 64 KiB', async () => {
    const { kept, processor } = await started((ctx) => ctx.once('mail', () => 'x'.repeat(65_534)));
    expect(await kept()).toHaveLength(1);
    await processor.close();
  });

  it.each<[string, Handle, RegExp]>([
    [
      'a name twice',
      async (ctx) => [await ctx.once('a', () => {}), await ctx.once('a', () => {})],
      /twice in one attempt/,
    ],
    ['no name', (ctx) => ctx.once('', () => {}), /name must be a printable text of 1 to 100/],
    ['a long name', (ctx) => ctx.once('x'.repeat(101), () => {}), /name must be/],
    ['a name of two lines', (ctx) => ctx.once('a\nb', () => {}), /name must be/],
    ['no function', (ctx) => Reflect.apply(Reflect.get(ctx, 'once'), ctx, ['a', 7]), /needs a function .*, not number/],
  ])('refuses %s', async (_, handle, message) => {
    const { ended, processor } = await started(handle);
    expect(await ended()).toEqual([expect.stringMatching(message)]);
    await processor.close();
  });

  it('fails the attempt if the handler does not await a step that fails, and waits for one that does not', async () => {
    const { clock, ended, kept, processor } = await started((ctx) => {
      void ctx.once('slow', async () => {
        await Promise.resolve();
        if (ctx.attempt === 1) throw new Error('unawaited');
      });
    });
    await clock.advance(2_000);
    expect([await ended(), await kept()]).toEqual([['unawaited', 'processed'], [['slow', null, 2]]]);
    await processor.close();
  });

  it('begins no step after the handler has ended, or once its signal is aborted', async () => {
    let late: unknown;
    const acts: string[] = [];
    const { clock, ended, processor } = await started(async (ctx) => {
      if (ctx.attempt === 1) {
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
        await ctx.once('mail', () => void acts.push('mail'));
      }
      setImmediate(() => {
        try {
          void ctx.once('late', () => void acts.push('late'));
        } catch (error) {
          late = error;
        }
      });
    });
    await clock.advance(40_000);
    expect(await ended()).toEqual(['the handler took longer than 30000 ms', 'processed']);
    await rest();
    expect([acts, String(late)]).toEqual([[], expect.stringMatching(/after the handler ended/)]);
    await processor.close();
  });

  it('writes its result again until the inbox takes it, without running the step again', async () => {
    const memory = memoryInbox();
    let refusals = 3;
    let acts = 0;
    const inbox: Inbox = {
      ...memory,
      async keepStep(...given) {
        refusals -= 1;
        if (refusals >= 0) throw new InboxUnavailableError('FAILED', 'the disk is full');
        return memory.keepStep(...given);
      },
    };
    const { clock, ended, kept, processor } = await started((ctx) => ctx.once('mail', () => (acts += 1)), inbox);
    await clock.advance(5_000);
    expect([await ended(), await kept(), acts]).toEqual([['processed'], [['mail', '1', 1]], 1]);
    await processor.close();
  });

  it('reports a lost lease instead of a result', async () => {
    const memory = memoryInbox();
    let failure: unknown;
    const inbox: Inbox = { ...memory, keepStep: async () => false };
    const { processor } = await started(async (ctx) => {
      await ctx
        .once('mail', () => 1)
        .catch((error: unknown) => {
          failure = error;
          throw error;
        });
    }, inbox);
    expect(failure).toMatchObject({ name: 'TransactionError', code: 'LEASE_LOST' });
    await processor.close();
  });

  it.each<[string, Handle, RegExp]>([
    [
      'in ctx.transaction, which is rolled back',
      (ctx) =>
        ctx.transaction((database) => {
          database.exec("INSERT INTO effects VALUES ('written')");
          void ctx.once('mail', () => {});
        }),
      /while ctx.transaction runs/,
    ],
    [
      'after ctx.transaction',
      async (ctx) => {
        await ctx.transaction((database) => database.exec('DELETE FROM effects'));
        await ctx.once('mail', () => {});
      },
      /after ctx.transaction committed/,
    ],
  ])('is refused %s', async (_, handle, message) => {
    await using inbox = sqliteInbox(scratchFile());
    let effects: unknown;
    const { processor } = await started(async (ctx) => {
      if (ctx.attempt > 1) {
        await ctx.transaction((database) => {
          effects = database.prepare('SELECT * FROM effects').all();
        });
        return;
      }
      await ctx.once('table', () => {});
      await handle(ctx);
    }, withTable(inbox));
    await expect.poll(async () => (await inbox.attempts(KEY))[0]?.error?.message, { timeout: 5_000 }).toMatch(message);
    expect(await inbox.steps(KEY)).toMatchObject([{ name: 'table' }]);
    expect(effects).toBeUndefined();
    await processor.close();
  });
});

function circle(): unknown {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}

/** The table `effects` stands in the file before the first transaction. */
function withTable(inbox: Inbox): Inbox {
  return {
    ...inbox,
    transaction: (lease, work, attempt) =>
      inbox.transaction(
        lease,
        (database) => {
          database.exec('CREATE TABLE IF NOT EXISTS effects (what TEXT)');
          return work(database);
        },
        attempt,
      ),
  };
}
