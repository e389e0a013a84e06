// @module-tag long
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import type { Logger } from '../../src/host/logger.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { requirePart } from '../helpers/parts.ts';
import { SECRET, signed, signedEvent } from '../helpers/signed-event.ts';

type Write = (text: string) => void;

/** Loggers as merchants make them, each on the real package. */
const LOGGERS: Readonly<Record<string, (write: Write) => Logger | Promise<Logger>>> = {
  pino: (write) => pino({}, { write }),
  console: (write) => {
    for (const method of ['info', 'warn', 'error'] as const) {
      vi.spyOn(console, method).mockImplementation((...said: unknown[]) =>
        write(said.map((part) => inspect(part)).join(' ')),
      );
    }
    return console;
  },
  winston: (write) => {
    const { createLogger, format, transports } = requirePart('winston') as Winston;
    return createLogger({ format: format.json(), transports: [new transports.Stream({ stream: streamTo(write) })] });
  },
  'a child of winston, on lines for people': (write) => {
    const { createLogger, format, transports } = requirePart('winston') as Winston;
    const logger = createLogger({
      format: format.combine(format.splat(), format.simple()),
      transports: [new transports.Stream({ stream: streamTo(write) })],
    });
    return logger.child({ part: 'webhooks' });
  },
  bunyan: (write) => {
    const { createLogger } = requirePart('bunyan') as {
      readonly createLogger: (options: { name: string; stream: Writable }) => Logger;
    };
    return createLogger({ name: 'shop', stream: streamTo(write) });
  },
  roarr: async (write) => {
    vi.stubEnv('ROARR_LOG', 'true');
    const { Roarr, ROARR } = requirePart('roarr') as { Roarr: Logger; ROARR: { write: Write } };
    ROARR.write = write;
    return Roarr;
  },
  tslog: (write) => {
    const { Logger } = requirePart('tslog') as {
      Logger: new (options: object) => Logger & { attachTransport(to: (line: object) => void): void };
    };
    const logger = new Logger({ type: 'hidden' });
    logger.attachTransport((line) => write(JSON.stringify(line)));
    return logger;
  },
};

interface Winston {
  readonly createLogger: (options: object) => Logger & { child(facts: object): Logger };
  readonly format: Readonly<Record<'json' | 'simple' | 'splat', () => object>> & {
    combine(...formats: object[]): object;
  };
  readonly transports: { readonly Stream: new (options: { stream: Writable }) => object };
}

function streamTo(write: Write): Writable {
  return new Writable({
    write(chunk, _, done) {
      write(String(chunk));
      done();
    },
  });
}

describe.each(Object.keys(LOGGERS))('%s as the logger', (name) => {
  it('is given the message and the facts of each line', async () => {
    const written: string[] = [];
    const logger = await LOGGERS[name]?.((text) => void written.push(text));
    if (logger === undefined) throw new Error(name);
    const handlers = {
      '*': (_: unknown, ctx: { readonly log: { info(facts: object, message: string): void } }) => {
        ctx.log.info({ parcel: 'p_77' }, 'handed over');
        throw new RangeError('no carrier');
      },
    };
    const receiver = createReceiver({
      secret: SECRET,
      inbox: memoryInbox(),
      logger,
      processing: { mode: 'inline' },
      handlers,
    });
    await receiver.receive({ ...signed('[]'), signature: '0'.repeat(64) });
    const { body, headers } = signedEvent();
    await receiver.receive({ body, signature: headers[0]?.[1] });
    await receiver.close();
    await vi.waitFor(() => expect(written.length).toBeGreaterThanOrEqual(3));

    const line = (message: string): string => written.find((text) => text.includes(message)) ?? written.join('');
    expect(line('delivery rejected')).toMatch(
      /delivery rejected[^]*signature-mismatch|signature-mismatch[^]*delivery rejected/,
    );
    expect(line('handed over')).toContain('p_77');
    expect(line('handler failed')).toContain('no carrier');
    expect(written.join('')).not.toContain('[object Object]');
  });
});
