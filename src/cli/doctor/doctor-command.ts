import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withDb } from '../shared/db-option.ts';
import type { DoctorOptions } from './diagnose.ts';
import { EXIT } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { withReceiverPort } from '../shared/port-option.ts';

/** `hookbox doctor` */
export function doctorCommand(): Command {
  const made = command('doctor', 'check whether a receiver can run here and keep what it is given', [
    'hookbox doctor',
    'hookbox doctor --db /var/lib/shop/hookbox.db --port 8080',
    'hookbox doctor --json | jq \'.checks[] | select(.status != "ok")\'',
  ]);
  return withReceiverPort(withDb(made, 'the inbox, which need not exist yet'), 'the port of the receiver')
    .option('--secret-file <path>', 'file with the signing secret; without it SIGNING_SECRET')
    .option('--json', 'print the findings as JSON')
    .addHelpText(
      'after',
      '\nIt writes into a folder of its own beside the inbox, and removes it; of Postgres it only reads. The inbox\n' +
        'stays as it is.\n' +
        'Exit codes: 0 no problem, 1 a problem. Warnings do not count.',
    )
    .action(async (options: DoctorOptions) => {
      const signal = interruption();
      const { doctor } = await import('./diagnose.ts');
      if (!(await doctor(options, signal)) && !signal.aborted) process.exitCode = EXIT.failed;
    });
}
