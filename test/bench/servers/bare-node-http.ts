// The ceiling: node:http reads the body and answers; nothing is verified, parsed or stored.
import { createServer } from 'node:http';
import { answer } from './shared/bare-answer.ts';
import { listen } from './shared/report-port.ts';

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      Buffer.concat(chunks);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer);
    });
  }),
);
