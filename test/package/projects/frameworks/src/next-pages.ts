/** hookbox/node behind the types of Next.js's pages/api, which are written down here: Next.js is large. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isKnown, type Receiver } from 'hookbox';
import { webhookHandler, webhookVerifier } from 'hookbox/node';

interface NextApiRequest extends IncomingMessage {
  query: Partial<Record<string, string | string[]>>;
  cookies: Partial<Record<string, string>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- as Next.js has it
  body: any;
}

interface NextApiResponse extends ServerResponse {
  json(body: unknown): void;
  status(code: number): NextApiResponse;
}

type NextApiHandler = (request: NextApiRequest, response: NextApiResponse) => unknown;

export function stored(receiver: Receiver): NextApiHandler {
  return webhookHandler(receiver);
}

export const checked: NextApiHandler = async (request, response) => {
  const verified = webhookVerifier({ secret: 'a secret' }, ({ webhookEvent }) => {
    if (isKnown(webhookEvent) && webhookEvent.type === 'order.created') response.json(webhookEvent.data.total);
  });
  await verified(request, response);
};
