// What the examples use of @aws-sdk/client-sqs, with a file for the queue.
import { appendFileSync, existsSync } from 'node:fs';

export class SendMessageCommand {
  #input;

  constructor(input) {
    this.#input = input;
  }

  get input() {
    return this.#input;
  }
}

export class SQSClient {
  async send(command) {
    const { QueueUrl, MessageBody } = command.input;
    if (existsSync(`${process.env.QUEUE_FILE}.down`)) throw new Error('the queue is down');
    if (QueueUrl !== process.env.QUEUE_URL) throw new Error(`there is no queue ${QueueUrl}`);
    if (typeof MessageBody !== 'string') throw new TypeError('MessageBody must be a string');
    await new Promise((resolve) => setTimeout(resolve, Number(process.env.QUEUE_MS ?? 20)));
    appendFileSync(process.env.QUEUE_FILE, `${JSON.stringify(MessageBody)}\n`);
    return { MessageId: 'a message' };
  }
}
