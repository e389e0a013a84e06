// @module-tag dear
import { webhookHandler, type HttpEvent } from '../../adapters/aws-lambda.ts';
import { testHttpAdapter } from './conformance.ts';
import { serveGateway, type GatewayRules } from './gateway-bridge.ts';
import type { Lacks } from './http-adapter-case.ts';
import { functionUrl, httpApiPayload2, loadBalancer, loadBalancerMultiValue, restApi } from './lambda-events.ts';

const WHOLE = 'a gateway calls the function once it has the whole body, and waits for it by its own limits';
const CONNECTION = 'the connection is the gateway’s, and the header Connection is not for a function to set';

const ALL: Lacks = {
  'bodies as they arrive': WHOLE,
  'answers to clients that write on': WHOLE,
  'the Connection header': CONNECTION,
  'the end of a connection': CONNECTION,
  'code that outlives its answer': 'Lambda freezes a function that has answered',
};
const TEXT: Lacks = {
  'bytes that are no text': 'the gateway hands over application/json as text, whatever bytes it is',
};
const SMALL: Lacks = {
  'bodies over 1 MiB': 'a load balancer calls no function with a body of more than 1 MB',
};

const TEXT_TYPES = /^(?:text\/.*|application\/(?:json|javascript|xml))(?:;|$)/i;
const byType: GatewayRules['isText'] = (type) => type !== undefined && TEXT_TYPES.test(type);

const GATEWAYS: readonly (readonly [name: string, rules: GatewayRules, lacks: Lacks])[] = [
  ['a REST API', { event: restApi, isText: () => true }, TEXT],
  ['a REST API with binaryMediaTypes */*', { event: restApi, isText: () => false }, {}],
  ['an HTTP API', { event: httpApiPayload2, isText: byType }, TEXT],
  ['a function URL', { event: functionUrl, isText: byType }, TEXT],
  [
    'a load balancer',
    { event: loadBalancer, isText: byType, maxBodyBytes: 1024 * 1024 },
    {
      ...TEXT,
      ...SMALL,
      'all values of a header': 'without multi-value headers, a load balancer hands over the last one only',
    },
  ],
  [
    'a load balancer with multi-value headers',
    { event: loadBalancerMultiValue, isText: byType, maxBodyBytes: 1024 * 1024 },
    { ...TEXT, ...SMALL },
  ],
];

for (const [name, rules, lacks] of GATEWAYS) {
  testHttpAdapter(
    `hookbox/aws-lambda behind ${name}`,
    (receiver, { bodyReadBefore }) => {
      const handler = webhookHandler(receiver);
      return serveGateway(rules, (event, context) =>
        handler(bodyReadBefore === true ? withParsedBody(event) : event, context),
      );
    },
    { ...ALL, ...lacks },
  );
}

function withParsedBody(event: HttpEvent): HttpEvent {
  const text = Buffer.from(String(event.body), event.isBase64Encoded === true ? 'base64' : 'utf8').toString();
  return { ...event, body: JSON.parse(text) as unknown };
}
