import { performance } from '../../host/real-timers.ts';
import { oneLine } from '../../printable.ts';
import { EXIT, tell } from './output.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** The first signal aborts it; the second ends the process immediately. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  onFirstSignal(() => {
    process.exitCode = EXIT.interrupted;
    controller.abort();
  });
  return controller.signal;
}

export function firstSignal(): Promise<StopSignal> {
  return new Promise(onFirstSignal);
}

export function stopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    onFirstSignal((signal) => {
      tell(stopping('Stopping when the work in progress is done'));
      resolve(signal);
    });
  });
}

export function stopping(what: string): string {
  return `${what}; to stop immediately, press Ctrl-C again.`;
}

export const STOPS_AFTER_ANSWERS = stopping('Stopping when all deliveries in progress have been answered');

function onFirstSignal(begin: (signal: StopSignal) => void): void {
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(EXIT.interrupted);
      isStopping = true;
      begin(signal);
    });
  }
}

export async function underWay<T>(
  signal: AbortSignal,
  work: (progress: Progress) => Promise<T>,
  words = stopping('Stopping after the current step'),
): Promise<T> {
  using progress = progressBar();
  const tellStopping = (): void => progress.above(() => tell(words));
  signal.addEventListener('abort', tellStopping);
  try {
    return await work(progress);
  } finally {
    signal.removeEventListener('abort', tellStopping);
  }
}

export interface Progress extends Disposable {
  /** @param share - from 0 to 1, or `null` for a text without a bar */
  show(share: number | null, text: string): void;
  above(print: () => void): void;
  end(): void;
}

const LONG_MS = 500;
const REDRAW_MS = 100;
const BAR_WIDTH = 24;
const USUAL_COLUMNS = 80;
const ERASE_LINE = '\r\u{1b}[2K';

/** A log does not need a bar. */
export function progressBar(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'> = process.stderr,
  now: () => number = () => performance.now(),
): Progress {
  const isDrawn = stream.isTTY && process.env['TERM'] !== 'dumb';
  let line = '';
  let drawnAt = now() + LONG_MS - REDRAW_MS;

  const erase = (): void => {
    if (line !== '') stream.write(ERASE_LINE);
  };
  const end = (): void => {
    erase();
    line = '';
  };
  return {
    show(share, text) {
      if (!isDrawn || now() - drawnAt < REDRAW_MS) return;
      drawnAt = now();
      const whole = oneLine(share === null ? text : `${bar(share)} ${text}`, Infinity);
      line = whole.slice(0, (stream.columns || USUAL_COLUMNS) - 1);
      stream.write(`${ERASE_LINE}${line}`);
    },
    above(print) {
      erase();
      print();
      if (line !== '') stream.write(line);
    },
    end,
    [Symbol.dispose]: end,
  };
}

function bar(share: number): string {
  const within = Math.min(Math.max(share, 0), 1);
  const filled = Math.floor(within * BAR_WIDTH);
  const percent = String(Math.floor(within * 100)).padStart(3);
  return `[${'='.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}] ${percent}%`;
}
