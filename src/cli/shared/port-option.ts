import { Option, type Command } from 'commander';
import { wholeNumber } from './option-values.ts';

const USUAL_PORT = 3000;

/** Adds the port of a receiver, which platforms give as `PORT`. */
export function withReceiverPort(command: Command, what: string): Command {
  const option = new Option('--port <n>', what).argParser(wholeNumber(0, 65_535)).default(USUAL_PORT);
  // An empty one names nothing.
  return command.addOption(process.env['PORT'] === '' ? option : option.env('PORT'));
}

/** Where a receiver of this machine is by itself: where `hookbox serve` listens, given the same environment. */
export function usualTarget(): string {
  const port = Number(process.env['PORT']);
  const isPort = Number.isInteger(port) && port > 0 && port <= 65_535;
  return `http://localhost:${isPort ? port : USUAL_PORT}/webhooks`;
}
