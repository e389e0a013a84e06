import type { Transfer } from '../../../operator/transfer.ts';
import type { Access } from '../access.ts';
import { backup, bytesOf } from './backup.ts';
import { exporting } from './exporting.ts';
import { importing } from './importing.ts';

/** Taking what is stored from one file to another. */
export function transfer(access: Access): Transfer {
  return {
    ...exporting(access),
    ...importing(access),
    bytes: async () => bytesOf(access.database()),
    backup: (file) => backup(access.database(), file),
  };
}
