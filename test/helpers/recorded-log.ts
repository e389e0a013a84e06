import type { Logger } from '../../src/index.ts';

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger, and the lines it was given; those that only say of an event that all went well are apart. */
export interface RecordedLog {
  readonly logger: Logger;
  readonly lines: readonly LogLine[];
  readonly successes: readonly LogLine[];
  /** Begins anew, for a log that several tests share. */
  readonly forget: () => void;
}

export function recordedLog(): RecordedLog {
  const lines: LogLine[] = [];
  const successes: LogLine[] = [];
  const at =
    (level: LogLine['level']): Logger['info'] =>
    (facts, message) =>
      void (message === 'event processed' ? successes : lines).push({ level, facts, message });
  const forget = (): void => [lines, successes].forEach((kept) => kept.splice(0));
  return { lines, successes, forget, logger: { info: at('info'), warn: at('warn'), error: at('error') } };
}
