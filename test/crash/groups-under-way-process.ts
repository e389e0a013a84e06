// A process that ends with two groups under way to its disk: node groups-under-way-process.ts <file> <round> <exit|kill>
// It takes signed deliveries and writes each id to its output as soon as it was answered 200, in the same turn of the event
// loop; and each id that it ended with unanswered, with the groups under way, right before its end.
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { Worker, type Transferable } from 'node:worker_threads';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';

// Who is killed keeps nothing of what Node has compiled for the next one, unless it does so now.
flushCompileCache();

const [file = '', round = '', end = ''] = process.argv.slice(2);
const CONNECTIONS = 72;
/** Waits so long after the second group was sent that none, one or both groups are on the disk. */
const lingerMs = (Number(round) % 4) / 5;

interface Message {
  readonly kind: string;
  readonly id: number;
}

const groups = new Set<number>();
let sentGroups = 0;
const unanswered = new Set<string>();

const send = Reflect.get(Worker.prototype, 'postMessage') as (...given: unknown[]) => void;
const heard = new WeakSet<Worker>();
Worker.prototype.postMessage = function postMessage(
  this: Worker,
  message: Message,
  transfer?: readonly Transferable[],
): void {
  if (!heard.has(this)) this.on('message', ({ id }: Message) => groups.delete(id));
  heard.add(this);
  Reflect.apply(send, this, [message, transfer]);
  if (message.kind !== 'commit') return;
  groups.add(message.id);
  sentGroups += 1;
  if (groups.size === 2 && sentGroups > 5 + (Number(round) % 7)) endNow();
};

function endNow(): void {
  for (const giveUpAt = performance.now() + lingerMs; performance.now() < giveUpAt;);
  writeSync(1, [...unanswered].map((id) => `unanswered ${id}\n`).join('') + `groups ${groups.size}\n`);
  if (end === 'exit') process.exit(7);
  process.kill(process.pid, 'SIGKILL');
}

const receiver = createReceiver({ secret: SECRET, inbox: sqliteInbox(file), logger: silent });

async function connection(name: number): Promise<void> {
  for (let n = 0; ; n += 1) {
    const id = `evt_${round}_${name}_${n}`;
    unanswered.add(id);
    const { status, kind } = await receiver.receive(orderDelivery(id));
    unanswered.delete(id);
    writeSync(1, `${status === 200 ? 'acknowledged' : kind} ${id}\n`);
    for (let turns = name % 3; turns > 0; turns -= 1) await new Promise((resolve) => void setImmediate(resolve));
  }
}

await Promise.all(Array.from({ length: CONNECTIONS }, (_, name) => connection(name)));
