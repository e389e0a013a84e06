// What the examples use of @google-cloud/pubsub, with a file for the topic.
import { appendFileSync, existsSync } from 'node:fs';

export class PubSub {
  topic(name) {
    return {
      async publishMessage({ data, attributes = {} }) {
        if (existsSync(`${process.env.QUEUE_FILE}.down`)) throw new Error('the queue is down');
        if (name !== 'events') throw new Error(`there is no topic ${name}`);
        if (!Buffer.isBuffer(data)) throw new TypeError('Data must be in the form of a Buffer or Uint8Array.');
        if (Object.values(attributes).some((value) => typeof value !== 'string'))
          throw new TypeError('attributes are strings');
        await new Promise((resolve) => setTimeout(resolve, 20));
        appendFileSync(
          process.env.QUEUE_FILE,
          `${JSON.stringify(JSON.stringify({ data: data.toString(), attributes }))}\n`,
        );
        return 'a message';
      },
    };
  }
}
