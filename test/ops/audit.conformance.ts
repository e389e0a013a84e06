import { beforeEach, describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { Inbox, Operations } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import type { PageRequest } from '../../src/inbox/operator/search.ts';
import type { AuditFilter } from '../../src/inbox/operator/audit.ts';
import { auditLines } from '../../src/ops/audit.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';

const ADA: By = { actor: 'ada', now: START };

export const testAudit = suite((open: () => Promise<Inbox>) => {
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
      ['a blank at the cut', `${'a'.repeat(199)} lovelace`, 'a'.repeat(199)],
      ['half a pair at the cut', `${'a'.repeat(199)}🦊`, `${'a'.repeat(199)}\uFFFD`],
      ['what reads like SQL', "'; DROP TABLE hookbox_audit; --", "'; DROP TABLE hookbox_audit; --"],
      ['what reads like HTML', '<script>alert(1)</script>', '<script>alert(1)</script>'],
    ])('takes an actor with %s', async (_, actor, expected) => {
      await operations.note('prune', { ...ADA, actor }, {}, {});
      expect((await auditLines(inbox)).lines).toMatchObject([{ actor: expected }]);
      expect((await auditLines(inbox, { actor: expected })).lines).toHaveLength(1);
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

  describe('a filter of the audit', () => {
    const HOUR = 60 * 60_000;
    const done = (by: readonly (readonly [actor: string, hour: number])[]) =>
      by.reduce<Promise<void>>(
        (before, [actor, hour], n) =>
          before.then(
            async () => void (await operations.note('rerun', { actor, now: START + hour * HOUR }, { n }, {})),
          ),
        Promise.resolve(),
      );
    const found = async (request: AuditFilter & PageRequest) =>
      (await auditLines(inbox, request)).lines.map(({ filter }) => (filter as { n: number }).n);

    it('finds what somebody did in a span, whatever order the times are in', async () => {
      await done([
        ['ada', 0],
        ['bob', 1],
        ['ada', 3],
        // The clock was set back.
        ['ada', 2],
        ['Ada', 2],
        ['ada', 4],
      ]);
      const at = (hour: number) => new Date(START + hour * HOUR);
      expect(await found({ actor: 'ada' })).toEqual([5, 3, 2, 0]);
      expect(await found({ actor: '  ada\n' })).toEqual([5, 3, 2, 0]);
      expect(await found({ since: at(2), until: at(3) })).toEqual([4, 3]);
      expect(await found({ actor: 'ada', since: at(2), until: at(4) })).toEqual([3, 2]);
      expect(await found({ since: at(4) })).toEqual([5]);
      expect(await found({ until: at(1) })).toEqual([0]);
      expect(await found({ actor: 'eve' })).toEqual([]);
      expect(await found({ actor: "x' OR 1 = 1 --" })).toEqual([]);
    });

    it.each(['Ünï \u{1F98A}', 'a'.repeat(201), `${'a'.repeat(199)}\u{1F98A}`, '%', 'a\u0000b'])(
      'finds an actor by the name that was given: %j',
      async (actor) => {
        await done([
          [actor, 0],
          ['ada', 0],
        ]);
        expect(await found({ actor })).toEqual([0]);
      },
    );

    it('goes on where a page of what fits has ended', async () => {
      await done(Array.from({ length: 9 }, (_, n) => [n % 2 === 0 ? 'ada' : 'bob', n] as const));
      const pages: number[][] = [];
      for (let before: number | null | undefined; before !== null;) {
        const { lines, next } = await auditLines(inbox, { actor: 'ada', limit: 2, before: before ?? null });
        pages.push(lines.map(({ filter }) => (filter as { n: number }).n));
        before = next;
      }
      expect(pages).toEqual([[8, 6], [4, 2], [0]]);
    });

    it.each([
      { actor: '' },
      { actor: ' \n' },
      { actor: 'a'.repeat(1_001) },
      { actor: 7 },
      { since: 'yesterday' },
      { until: new Date(Number.NaN) },
      { by: 'ada' },
    ])('is refused: %j', async (request) => {
      await expect(auditLines(inbox, request as AuditFilter)).rejects.toThrow(ConfigurationError);
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
