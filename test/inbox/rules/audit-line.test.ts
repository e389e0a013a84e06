import { expect, it } from 'vitest';
import { addToAuditLine } from '../../../src/inbox/rules/audit-line.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { scripted } from './scripted-engine.ts';

it.each([
  [{}, { erased: 2 }, { erased: 2 }],
  [{ erased: 3 }, { erased: 2, inProcessing: 1 }, { erased: 5, inProcessing: 1 }],
  [{ other: 1, erased: 3 }, { erased: 0 }, { other: 1, erased: 3 }],
])('a line that has counted %j counts %j more', (before, more, after) => {
  const { engine, of } = scripted({ auditCounts: () => before });
  atOnce(addToAuditLine(engine, 4, more));
  expect(of('recountAuditLine')).toEqual([['recountAuditLine', 4, after]]);
});

it('where there is no line nothing is counted', () => {
  const { engine, asked } = scripted();
  atOnce(addToAuditLine(engine, 4, { erased: 1 }));
  expect(asked).toEqual([['auditCounts', 4]]);
});
