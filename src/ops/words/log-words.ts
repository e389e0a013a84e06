import type { EraseReport } from '../../inbox/operator/removal.ts';

/** Where something of what was erased is left; `null` where there is nothing to say. */
export function leftInLog(logEmptied: EraseReport['logEmptied']): string | null {
  if (logEmptied === true) return null;
  return logEmptied === false
    ? 'What was erased is still in the write-ahead log, which another process is reading: erase again to empty it.'
    : 'Postgres keeps what was erased in dead rows until VACUUM, and in archives of its log as long as these are kept.';
}
