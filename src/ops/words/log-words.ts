import type { EraseReport } from '../../inbox/operator/erasing.ts';

/** Where something of what was erased is left; `null` where there is nothing to say. */
export function leftInLog(logEmptied: EraseReport['logEmptied']): string | null {
  if (logEmptied === true) return null;
  return logEmptied === false
    ? 'The write-ahead log still holds the erased data, because another process is reading the log. To empty the log, run the erasure again.'
    : 'Postgres keeps the erased data in dead rows until VACUUM removes the rows, and in archived log files until you delete the files.';
}
