// A process that handles events and will be killed: node handling-process.ts <file> <behaviour> thread|loop
//   effects: each handler writes one row into the table effects through ctx.transaction, after and before a short while
//   steps: each handler runs two steps by ctx.once, which write a line each into the file `<file>.acts`
//   exit, kill: the handler of the event `poison` ends the process, by process.exit or by SIGKILL to itself
// It writes `begin <id>` and `end <id>` to its output as its handlers run, and goes on until it is killed.
import { appendFileSync, writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import { SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';

// Who is killed keeps nothing of what Node has compiled for the next one, unless it does so now.
flushCompileCache();

const [file = '', behaviour = '', placement] = process.argv.slice(2);

const effects: Handlers = {
  '*': async ({ id }, context) => {
    writeSync(1, `begin ${id}\n`);
    await sleep(Math.random() * 10);
    await context.transaction((database) => database.prepare('INSERT INTO effects (event) VALUES (?)').run(id));
    await sleep(Math.random() * 5);
    writeSync(1, `end ${id}\n`);
  },
};

const act = async (line: string): Promise<void> => {
  await sleep(Math.random() * 5);
  appendFileSync(`${file}.acts`, `${line}\n`);
};

const steps: Handlers = {
  '*': async ({ id }, context) => {
    writeSync(1, `begin ${id}\n`);
    await context.once('first', () => act(`${id} first`));
    await context.once('second', () => act(`${id} second`));
    await sleep(Math.random() * 10);
    writeSync(1, `end ${id}\n`);
  },
};

const poison: Handlers = {
  '*': async ({ id }) => {
    writeSync(1, `begin ${id}\n`);
    await sleep(10 + Math.random() * 20);
    if (id === 'poison') {
      if (behaviour === 'exit') process.exit(1);
      process.kill(process.pid, 'SIGKILL');
    }
    writeSync(1, `end ${id}\n`);
  },
};

const receiver = createReceiver({
  secret: SECRET,
  inbox: sqliteInbox(file, { thread: placement === 'thread' }),
  handlers: { effects, steps }[behaviour] ?? poison,
  processing: { concurrency: 4, leaseMs: 300, retry: { baseMs: 10, maxMs: 100 } },
  logger: silent,
});
await receiver.start();
