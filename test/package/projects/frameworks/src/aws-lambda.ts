import type {
  ALBEvent,
  ALBHandler,
  ALBResult,
  APIGatewayProxyEvent,
  APIGatewayProxyEventV2,
  APIGatewayProxyHandler,
  APIGatewayProxyHandlerV2,
  APIGatewayProxyHandlerV2WithJWTAuthorizer,
  APIGatewayProxyResult,
  APIGatewayProxyStructuredResultV2,
  Context,
  LambdaFunctionURLEvent,
  LambdaFunctionURLHandler,
  LambdaFunctionURLResult,
} from 'aws-lambda';
import { isKnown, type Receiver } from 'hookbox';
import { webhookHandler, webhookVerifier } from 'hookbox/aws-lambda';

interface Functions {
  readonly rest: APIGatewayProxyHandler;
  readonly http: APIGatewayProxyHandlerV2;
  readonly authorized: APIGatewayProxyHandlerV2WithJWTAuthorizer;
  readonly balancer: ALBHandler;
  readonly url: LambdaFunctionURLHandler;
}

export function storing(receiver: Receiver): Functions {
  const handler = webhookHandler(receiver);
  return { rest: handler, http: handler, authorized: handler, balancer: handler, url: handler };
}

export function queueing(): Functions {
  const handler = webhookVerifier(
    { secret: process.env['SIGNING_SECRET'] },
    async ({ event, body }, context: Context) => {
      if (isKnown(event) && event.type === 'order.created') console.log(event.data.total, body.byteLength);
      console.log(context.awsRequestId);
    },
  );
  return { rest: handler, http: handler, authorized: handler, balancer: handler, url: handler };
}

/** Called by a function of the merchant's own. */
export const called = {
  rest: async (receiver: Receiver, event: APIGatewayProxyEvent, context: Context): Promise<APIGatewayProxyResult> =>
    webhookHandler(receiver)(event, context),
  http: async (receiver: Receiver, event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> =>
    webhookHandler(receiver)(event),
  balancer: async (receiver: Receiver, event: ALBEvent): Promise<ALBResult> => webhookHandler(receiver)(event),
  url: async (receiver: Receiver, event: LambdaFunctionURLEvent): Promise<LambdaFunctionURLResult> =>
    webhookHandler(receiver)(event),
};
