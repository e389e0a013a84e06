import { createHash } from 'node:crypto';

const print = (bytes) => console.log(bytes.byteLength, createHash('sha256').update(bytes).digest('hex'));

export const printRequest =
  (handle) =>
  async (request, ...context) => {
    print(Buffer.from(await request.clone().arrayBuffer()));
    return handle(request, ...context);
  };

export const printLambdaEvent = (handle) => (event, context) => {
  print(Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8'));
  return handle(event, context);
};
