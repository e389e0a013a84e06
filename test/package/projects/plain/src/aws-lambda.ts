/** hookbox/aws-lambda without the types of Lambda. */
import type { Receiver } from 'hookbox';
import { webhookHandler, webhookVerifier, type HttpEvent, type HttpResult } from 'hookbox/aws-lambda';

interface Context {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

export async function stored(receiver: Receiver, event: HttpEvent, context: Context): Promise<HttpResult> {
  return webhookHandler(receiver)(event, context);
}

export const queued = webhookVerifier({ secret: 'a secret' }, async ({ event, body }, { awsRequestId }: Context) => {
  console.log(awsRequestId, event.id, body.byteLength);
});
