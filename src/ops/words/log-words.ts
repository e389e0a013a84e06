import type { EraseReport } from '../../inbox/operator/removal.ts';

/** Where something of what was erased is left; `null` where there is nothing to say. */
export function leftInLog(logEmptied: EraseReport['logEmptied']): string | null {
  if (logEmptied === true) return null;
  return logEmptied === false
    ? 'The write-ahead log still has the erased data, because another process reads it. Erase again to empty the log.'
    : 'Postgres keeps the erased data in dead rows until VACUUM, and in archives of its log until you delete them.';
}
