import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { FunctionContext, HttpEvent, HttpResult } from '../../adapters/aws-lambda.ts';
import { Remaining } from './lambda-function.ts';
import type { Gateway, GatewayRequest } from './lambda-events.ts';
import { serveNode, type ServedNode } from './served-node.ts';

export interface GatewayRules {
  readonly event: Gateway;
  /** Other bodies come in base64. */
  readonly isText: (contentType: string | undefined) => boolean;
  readonly maxBodyBytes?: number;
}

const TIMEOUT_MS = 10_000;

export function serveGateway(
  { event, isText, maxBodyBytes = Infinity }: GatewayRules,
  call: (event: HttpEvent, context: FunctionContext) => Promise<HttpResult>,
): Promise<ServedNode> {
  return serveNode(async (request, response) => {
    const body = await wholeBody(request);
    if (body === null) return; // the client has gone
    if (body.byteLength > maxBodyBytes) {
      response.writeHead(413, { 'Content-Type': 'text/html' }).end('<h1>413 Request Entity Too Large</h1>');
      return;
    }
    const result = await call(
      event({ method: request.method ?? '', headers: headersOf(request), ...carried(body, isText, request) }),
      new Remaining(TIMEOUT_MS),
    );
    response.writeHead(result.statusCode, { ...result.multiValueHeaders, ...result.headers }).end(result.body);
  });
}

async function wholeBody(request: IncomingMessage): Promise<Buffer | null> {
  try {
    return await buffer(request);
  } catch {
    return null;
  }
}

function headersOf({ rawHeaders }: IncomingMessage): GatewayRequest['headers'] {
  const names = rawHeaders.filter((_, n) => n % 2 === 0);
  return names.map((name, n) => [name, rawHeaders[n * 2 + 1] ?? '']);
}

function carried(
  body: Buffer,
  isText: GatewayRules['isText'],
  { headers }: IncomingMessage,
): Pick<GatewayRequest, 'body' | 'isBase64Encoded'> {
  if (body.byteLength === 0) return { body: null, isBase64Encoded: false };
  return isText(headers['content-type'])
    ? { body: body.toString('utf8'), isBase64Encoded: false }
    : { body: body.toString('base64'), isBase64Encoded: true };
}
