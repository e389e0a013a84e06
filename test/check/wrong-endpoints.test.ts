// @module-tag long
import { describe, expect, it } from 'vitest';
import { probeNames, type ProbeName } from '../../src/cli/check/probe-names.ts';
import { check, findingOf, probesWith, SECRET } from './checking.ts';
import { handWritten, MAIL_MS, type Mistake } from './hand-written.ts';

interface Expected {
  readonly mistake: Mistake;
  readonly faults: readonly ProbeName[];
  readonly warnings?: readonly ProbeName[];
  /** where it is more than one: how many of the things a probe sends are found to be treated wrongly */
  readonly findings?: Partial<Readonly<Record<ProbeName, number>>>;
}

describe('a check of an endpoint written by hand', () => {
  it('finds nothing wrong with a right one', async () => {
    const report = await check(handWritten(SECRET));

    expect(report.probes.flatMap(({ findings }) => findings)).toEqual([]);
    expect(report).toMatchObject({ full: true, marks: { passed: probeNames.length, judged: probeNames.length } });
  });

  const wrong: readonly (readonly [what: string, expected: Expected])[] = [
    [
      'accepts forged deliveries',
      {
        mistake: 'acceptsForged',
        faults: ['unsigned', 'tampered-body', 'tampered-signature', 'foreign-signature', 'forged-malformed-json'],
        warnings: ['signature-form'],
        findings: { unsigned: 2, 'tampered-signature': 2, 'signature-form': 3 },
      },
    ],
    ['accepts unsigned deliveries', { mistake: 'acceptsUnsigned', faults: ['unsigned'], findings: { unsigned: 2 } }],
    ['answers before it stores', { mistake: 'storesAfterAnswer', faults: ['stored-first'] }],
    ['parses before it verifies', { mistake: 'parsesFirst', faults: ['forged-malformed-json'] }],
    ['processes duplicates', { mistake: 'processesDuplicates', faults: ['duplicates', 'duplicates-at-once'] }],
    ['processes duplicates that come at once', { mistake: 'looksBeforeInserting', faults: ['duplicates-at-once'] }],
    [
      'writes the body again before it verifies',
      { mistake: 'reserialises', faults: ['raw-bytes'], warnings: ['invalid-utf8'], findings: { 'raw-bytes': 4 } },
    ],
    ['fails on types it does not know', { mistake: 'failsOnUnknownTypes', faults: ['unknown-type'] }],
    [
      'compares signatures leniently',
      { mistake: 'lenientSignature', faults: [], warnings: ['signature-form'], findings: { 'signature-form': 3 } },
    ],
    ['cuts the connection of large bodies', { mistake: 'cutsLargeBodies', faults: ['one-mebibyte', 'two-mebibytes'] }],
  ];

  it.each(wrong)('finds that it %s, and nothing else', async (_, { mistake, faults, warnings = [], findings = {} }) => {
    const report = await check(handWritten(SECRET, mistake));

    expect(probesWith(report, 'fault')).toEqual(faults);
    expect(probesWith(report, 'warning')).toEqual(warnings);
    expect(probesWith(report, 'unknown')).toEqual([]);
    for (const { name, findings: found, verdict } of report.probes) {
      expect([name, found.length]).toEqual([name, findings[name] ?? (verdict === 'pass' ? 0 : 1)]);
    }
    for (const { sent, received, why, mend } of report.probes.flatMap(({ findings }) => findings)) {
      for (const text of [sent, received, why, mend]) expect(text).toMatch(/\S/);
    }
    expect(JSON.stringify(report)).not.toContain(SECRET);
  });
});

describe('a check of an endpoint that answers late', () => {
  it('finds it at once, and sends nothing more', async () => {
    let deliveries = 0;
    const late = handWritten(SECRET, 'answersLate');
    const report = await check(
      (request, response) => {
        if (request.method === 'POST') deliveries += 1;
        late(request, response);
      },
      { deadlineMs: MAIL_MS - 100 },
    );

    expect(deliveries).toBe(1);
    expect(probesWith(report, 'fault')).toEqual(['valid', 'in-time']);
    expect(probesWith(report, 'unknown')).toEqual(probeNames.filter((name) => name !== 'valid' && name !== 'in-time'));
    expect(findingOf(report, 'valid').received).toMatch(/^a 2xx after \d+ ms; the limit is 200 ms$/);
    expect(findingOf(report, 'unsigned').why).toBe(
      'The endpoint answers a valid delivery too late, and would answer the other deliveries too late as well.',
    );
    expect(findingOf(report, 'unsigned').mend).toContain('--deadline');
  });

  it('finds nothing else where it is given the time', async () => {
    const only = ['unsigned', 'stored-first', 'duplicates-at-once', 'in-time'] as const;
    const report = await check(handWritten(SECRET, 'answersLate'), { deadlineMs: MAIL_MS * 10, only });

    expect(probesWith(report, 'pass')).toEqual(['valid', ...only]);
  });
});
