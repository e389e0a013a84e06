import type { Command } from 'commander';
import { command, withNotes } from '../shared/command.ts';
import { withDb, withReceiverPort } from '../shared/options.ts';
import type { DoctorOptions } from './diagnose.ts';
import { EXIT } from '../shared/output.ts';
import { interruption } from '../shared/interruption.ts';

/** `hookbox doctor` */
export function doctorCommand(): Command {
  const made = command('doctor', 'check whether a receiver can run and store events on this machine', [
    'hookbox doctor',
    'hookbox doctor --db /var/lib/shop/hookbox.db --port 8080',
    'hookbox doctor --json | jq \'.checks[] | select(.status != "ok")\'',
  ]);
  withReceiverPort(made, 'the port of the receiver')
    .option('--secret-file <path>', 'read the signing secret from this file instead of SIGNING_SECRET')
    .option('--json', 'print the findings as JSON');
  return withNotes(withDb(made, 'the inbox, which need not exist yet', ''), {
    notes: [
      'With SQLite, doctor writes to a temporary folder beside the inbox, then removes the folder. With Postgres, ' +
        'doctor only reads. It never changes the inbox.',
    ],
    exitCodes: { 0: 'no problem (warnings do not count)', 1: 'a problem' },
  }).action(async (options: DoctorOptions) => {
    const signal = interruption();
    const { doctor } = await import('./diagnose.ts');
    if (!(await doctor(options, signal)) && !signal.aborted) process.exitCode = EXIT.failed;
  });
}
