import { afterEach, expect, it, vi } from 'vitest';
import { outageLog } from '../../src/host/logger.ts';
import { recordedLog } from '../helpers/recorded-log.ts';

afterEach(() => vi.restoreAllMocks());

it('an outage lasts until it was last seen, however long nobody asks after that', () => {
  const time = vi.spyOn(performance, 'now');
  const log = recordedLog();
  const outage = outageLog(log.logger, 'it answers again', { times: 2 });
  const at = (seconds: number, say: () => void): void => {
    time.mockReturnValue(seconds * 1_000);
    say();
  };
  at(100, () => outage.failed(true));
  at(103, () => outage.failed(false));
  at(106, () => outage.failed(false));
  at(110, () => outage.answered());
  at(172, () => outage.answered());
  at(173, () => outage.answered());
  expect(log.lines.map(({ facts }) => facts)).toEqual([{ failedForSeconds: 6 }]);
});
