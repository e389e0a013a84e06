import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { verifySignature } from 'hookbox';

const server = createServer(async (request, response) => {
  if (request.method === 'POST') {
    const body = await buffer(request);
    const signature = request.headers['x-signature'] ?? '';
    const right = verifySignature(body, signature, process.env.SIGNING_SECRET);
    console.log(right ? 'right' : 'wrong', body.byteLength, 'bytes');
    if (!right) {
      writeFileSync('body.json', body);
      writeFileSync('signature.txt', signature);
    }
  }
  response.writeHead(request.method === 'POST' ? 503 : 200).end();
});
server.listen(process.env.PORT ?? 3000);
