import type { Deadline } from '../host/host-limits.ts';
import { ephemeralHost } from '../host/files.ts';
import { handledTypes } from '../processing/handlers.ts';
import { createInlineRunner, type InlineResult } from '../processing/inline.ts';
import type { Delivery } from './delivery.ts';
import type { Reason } from './outcome.ts';

/** When handlers run: `inline` before the response, `background` after `start()`. Unless it is set, the host decides. */
export type HandlingMode = 'background' | 'inline' | undefined;

export interface InlineHandling {
  readonly hasBackground: boolean;
  /** The option decides, otherwise the host. */
  isFor(delivery: Delivery, isStarted: boolean): boolean;
  run(id: string, delivery: Delivery, deadline: Deadline): Promise<'processed' | 'nothing to run' | Reason>;
  close(): Promise<void>;
}

export function inlineHandling(
  options: Parameters<typeof createInlineRunner>[0],
  endpoint: string,
  mode: HandlingMode,
): InlineHandling {
  const runner = createInlineRunner(options);
  const hasHandlers = handledTypes(options.handlers).length > 0;
  const frozenHere = ephemeralHost()?.frozenBetweenRequests ?? false;
  const isFrozen = ({ host }: Delivery): boolean => host?.frozenBetweenRequests ?? frozenHere;

  return {
    hasBackground: mode === undefined ? !frozenHere : mode === 'background',
    isFor(delivery, isStarted) {
      if (!hasHandlers) return false;
      return mode === undefined ? !isStarted && isFrozen(delivery) : mode === 'inline';
    },
    async run(id, delivery, deadline) {
      const afterwards = { waitUntil: delivery.host?.waitUntil, frozen: isFrozen(delivery) };
      const ran = await runner.run({ endpoint, id }, deadline, afterwards);
      return ran === 'processed' || ran === 'nothing to run' ? ran : REASONS[ran];
    },
    close: () => runner.close(),
  };
}

const REASONS = {
  busy: 'handler-busy',
  failed: 'handler-failed',
  timeout: 'handler-timeout',
  late: 'handler-late',
  closing: 'closing',
  lost: 'handler-lost',
} as const satisfies Record<Exclude<InlineResult, 'processed' | 'nothing to run'>, Reason>;
