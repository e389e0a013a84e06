import { performance } from '../../host/real-timers.ts';
import { oneLine } from '../../printable.ts';

/** How far long work has come, drawn on a line of its own beneath what is printed. */
export interface Progress {
  /** @param share - from 0 to 1; `null` where it is not known how much there is to do: no bar is drawn */
  show(share: number | null, text: string): void;
  /** Runs a function that prints lines, without tearing the bar. */
  above(print: () => void): void;
  /** Takes the bar away. */
  end(): void;
}

/** What a bar is drawn on. */
export type ProgressStream = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'>;

/** Work that is over sooner needs no bar. */
const LONG_MS = 500;
const REDRAW_MS = 100;
const BAR_WIDTH = 24;
/** Some terminals do not say how wide they are. */
const USUAL_COLUMNS = 80;
const ERASE_LINE = '\r\u{1b}[2K';

/** Draws nothing without a terminal: a log has no use for a bar. */
export function progressBar(
  stream: ProgressStream = process.stderr,
  now: () => number = () => performance.now(),
): Progress {
  if (!stream.isTTY || process.env['TERM'] === 'dumb') return { show() {}, above: (print) => print(), end() {} };
  let line = '';
  let drawnAt = now() + LONG_MS - REDRAW_MS;

  const erase = (): void => {
    if (line !== '') stream.write(ERASE_LINE);
  };

  return {
    show(share, text) {
      if (now() - drawnAt < REDRAW_MS) return;
      drawnAt = now();
      line = oneLine(share === null ? text : `${bar(share)} ${text}`, Infinity).slice(
        0,
        (stream.columns || USUAL_COLUMNS) - 1,
      );
      stream.write(`${ERASE_LINE}${line}`);
    },
    above(print) {
      erase();
      print();
      stream.write(line);
    },
    end() {
      erase();
      line = '';
    },
  };
}

function bar(share: number): string {
  const within = Math.min(Math.max(share, 0), 1);
  const filled = Math.floor(within * BAR_WIDTH);
  const percent = String(Math.floor(within * 100)).padStart(3);
  return `[${'='.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}] ${percent}%`;
}
