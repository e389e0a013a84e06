import { bytesOf, type EventContent } from './event-bytes.ts';
import type { Sent } from './final-comparison.ts';
import type { Behaviour } from './handler-script.ts';
import { nameOf } from './model-event.ts';
import type { SimulatedProcess } from './simulated-process.ts';

export class Service {
  readonly sent: Sent[] = [];
  readonly #scripts = new Map<string, Behaviour[]>();

  sendNew(content: EventContent, script: readonly Behaviour[], to: SimulatedProcess): void {
    const id = `evt_${this.sent.length + 1}`;
    this.#scripts.set(nameOf({ endpoint: to.receives ?? '', id }), [...script]);
    this.send(id, content, to);
  }

  /** The same id at another endpoint is another event. */
  send(id: string, content: EventContent, to: SimulatedProcess): void {
    const endpoint = to.receives ?? '';
    let sent = this.sent.find((one) => one.id === id && one.endpoint === endpoint);
    if (sent === undefined) this.sent.push((sent = { endpoint, id, contents: [], acknowledged: false }));
    const { contents } = sent;
    contents.push(content);
    void to.deliver(bytesOf(id, content)).then((outcome) => {
      if (outcome.status === 200 && !to.life.dead) sent.acknowledged = true;
    });
  }

  sendAgain(to: readonly SimulatedProcess[]): void {
    for (const { endpoint, id, contents, acknowledged } of this.sent) {
      const [first] = contents;
      const receiver = to.find(({ receives }) => receives === endpoint);
      if (!acknowledged && first !== undefined && receiver !== undefined) this.send(id, first, receiver);
    }
  }

  behaviourOf(name: string): Behaviour {
    return this.#scripts.get(name)?.shift() ?? 'succeed';
  }
}
