import type { Logger } from '../../src/index.ts';

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger, and the lines it was given. */
export interface RecordedLog {
  readonly logger: Logger;
  readonly lines: readonly LogLine[];
  /** Begins anew, for a log that several tests share. */
  readonly forget: () => void;
}

export function recordedLog(): RecordedLog {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine['level']): Logger['info'] =>
    (facts, message) =>
      void lines.push({ level, facts, message });
  const forget = (): void => void lines.splice(0);
  return { lines, forget, logger: { info: at('info'), warn: at('warn'), error: at('error') } };
}
