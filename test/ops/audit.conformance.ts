import { beforeEach, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import type { Operations } from '../../src/inbox/operator/operations.ts';
import { auditLines } from '../../src/ops/audit.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { START } from '../helpers/virtual-clock.ts';

const ADA: By = { actor: 'ada', now: START };

/** What the audit keeps, wherever that is. `open` gives an empty inbox for each test. */
export function testAudit(name: string, open: () => Promise<Inbox>): void {
  describe(name, () => {
    let inbox: Inbox;
    let operations: Operations;

    beforeEach(async () => {
      inbox = await open();
      operations = operationsOf(inbox);
    });

    describe('a line of the audit', () => {
      it('keeps who did what when, through what, why, to which events, and how many', async () => {
        const seq = await operations.note(
          'prune',
          { ...ADA, via: 'page', reason: 'spring' },
          { states: ['dead'] },
          { pruned: 7 },
        );
        expect(await auditLines(inbox)).toEqual({
          lines: [
            {
              seq,
              at: new Date(START),
              actor: 'ada',
              via: 'page',
              act: 'prune',
              reason: 'spring',
              filter: { states: ['dead'] },
              counts: { pruned: 7 },
            },
          ],
          next: null,
        });
      });

      it('is by code, for no reason, at the time of the machine, unless it is said otherwise', async () => {
        const before = Date.now();
        await operations.note('backup', { actor: 'cron' }, undefined, {});
        const [line] = (await auditLines(inbox)).lines;
        expect(line).toMatchObject({ via: 'code', reason: null, filter: null, counts: {} });
        expect(line?.at.getTime()).toBeGreaterThanOrEqual(before);
        expect(line?.at.getTime()).toBeLessThanOrEqual(Date.now());
      });

      it('gets other counts as its act goes on; other lines keep theirs', async () => {
        const first = await operations.note('prune', ADA, {}, { pruned: 0 });
        const second = await operations.note('prune', ADA, {}, { pruned: 0 });
        await operations.recount(first, { pruned: 50 });
        await operations.recount(first, { pruned: 100, erased: 1 });
        await operations.recount(second + 1_000, { pruned: 1 });
        expect((await auditLines(inbox)).lines.map(({ seq, counts }) => [seq, counts])).toEqual([
          [second, { pruned: 0 }],
          [first, { pruned: 100, erased: 1 }],
        ]);
      });

      it.each([
        ['blanks around it', '  ada \n', 'ada'],
        ['a whole book', 'a'.repeat(5_000), 'a'.repeat(200)],
        ['half a pair at the cut', `${'a'.repeat(199)}🦊`, `${'a'.repeat(199)}\uFFFD`],
        ['what reads like SQL', "'; DROP TABLE hookbox_audit; --", "'; DROP TABLE hookbox_audit; --"],
        ['what reads like HTML', '<script>alert(1)</script>', '<script>alert(1)</script>'],
      ])('takes an actor with %s', async (_, actor, expected) => {
        await operations.note('prune', { ...ADA, actor }, {}, {});
        expect((await auditLines(inbox)).lines).toMatchObject([{ actor: expected }]);
      });

      it.each([
        [' \n ', null],
        [` ${'w'.repeat(5_000)}`, 'w'.repeat(1_000)],
      ])('trims and cuts its reason', async (reason, expected) => {
        await operations.note('prune', { ...ADA, reason }, {}, {});
        expect((await auditLines(inbox)).lines).toMatchObject([{ reason: expected }]);
      });

      it.each([
        ['no actor', {}],
        ['an empty one', { actor: '' }],
        ['a blank one', { actor: '\u00a0\t' }],
        ['one that is no text', { actor: { name: 'ada' } }],
        ['an unknown way', { actor: 'ada', via: 'mail' }],
      ])('is refused with %s', async (_, by) => {
        await expect(operations.note('prune', by as unknown as By, {}, {})).rejects.toThrow(ConfigurationError);
        expect((await auditLines(inbox)).lines).toEqual([]);
      });

      it('keeps filters as they read in JSON, whatever stands in them', async () => {
        const filter = { since: new Date(START), error: '\u0000"\u2028</script>', ['__proto__']: 1, list: ['\uD800'] };
        await operations.note('export', ADA, filter, { ['__proto__']: 3 });
        const [line] = (await auditLines(inbox)).lines;
        expect(JSON.stringify(line?.filter)).toBe(JSON.stringify(filter));
        expect(Object.entries(line?.counts ?? {})).toEqual([['__proto__', 3]]);
      });
    });

    describe('the pages of the audit', () => {
      it('are newest first, whatever times the lines have, and stay put while lines are added', async () => {
        const made: number[] = [];
        for (let n = 0; n < 7; n += 1) {
          made.unshift(await operations.note('prune', { ...ADA, now: START - n * 1_000 }, { n }, {}));
        }
        const seen: number[] = [];
        for (let before: number | null | undefined; before !== null;) {
          const { lines, next } = await auditLines(inbox, { before: before ?? null, limit: 3 });
          seen.push(...lines.map(({ seq }) => seq));
          await operations.note('prune', ADA, {}, {});
          before = next;
        }
        expect(seen).toEqual(made);
      });

      it('say that there are no more where a page is full exactly', async () => {
        for (let n = 0; n < 3; n += 1) await operations.note('prune', ADA, { n }, {});
        expect((await auditLines(inbox, { limit: 3 })).next).toBeNull();
        expect((await auditLines(inbox, { limit: 2 })).next).not.toBeNull();
      });

      it('have 50 lines, or up to 500', async () => {
        await Promise.all(Array.from({ length: 51 }, () => operations.note('prune', ADA, {}, {})));
        expect((await auditLines(inbox)).lines).toHaveLength(50);
        expect((await auditLines(inbox, { limit: 500 })).lines).toHaveLength(51);
        for (const limit of [0, -1, 501, 1.5, Number.NaN]) {
          await expect(auditLines(inbox, { limit })).rejects.toThrow(ConfigurationError);
        }
      });
    });
  });
}
