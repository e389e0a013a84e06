import type { SignedDelivery } from '../helpers/signed-event.ts';

export interface GatewayRequest extends Pick<SignedDelivery, 'headers'> {
  readonly method?: string;
  /** As the gateway puts it into the event. */
  readonly body: unknown;
  readonly isBase64Encoded?: boolean;
}

export type Gateway = (request: GatewayRequest) => object;

/** Names as the client wrote them, with the last value of each; and all values beside them. */
export const restApi: Gateway = ({ method = 'POST', headers, body, isBase64Encoded = false }) => ({
  resource: '/webhooks',
  path: '/webhooks',
  httpMethod: method,
  headers: lastValues([...fromApiGateway, ...headers]),
  multiValueHeaders: allValues([...fromApiGateway, ...headers]),
  queryStringParameters: null,
  multiValueQueryStringParameters: null,
  pathParameters: null,
  stageVariables: null,
  requestContext: {
    accountId: '123456789012',
    apiId: 'a1b2c3d4e5',
    domainName: 'a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com',
    httpMethod: method,
    identity: { sourceIp: '203.0.113.7', userAgent: 'commerce-ordering/1.0' },
    path: '/prod/webhooks',
    protocol: 'HTTP/1.1',
    requestId: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
    requestTimeEpoch: 1_767_268_800_000,
    resourcePath: '/webhooks',
    stage: 'prod',
  },
  body,
  isBase64Encoded,
});

/** Payload format 1.0. */
export const httpApiPayload1: Gateway = (request) => ({ version: '1.0', ...restApi(request) });

/** Names in lower case, values joined with a comma; no `body` for a request without one. */
export const httpApiPayload2: Gateway = (request) => ({
  version: '2.0',
  routeKey: 'POST /webhooks',
  ...payload2(request, 'a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com'),
});

export const functionUrl: Gateway = (request) => ({
  version: '2.0',
  routeKey: '$default',
  ...payload2(request, 'abcdefghijklmnop.lambda-url.eu-central-1.on.aws'),
});

/** Names in lower case, the last value of each; an empty `body` for a request without one. */
export const loadBalancer: Gateway = ({ headers, ...request }) => ({
  ...balanced(request),
  headers: lastValues(lowered([...fromLoadBalancer, ...headers])),
});

/** With `lambda.multi_value_headers.enabled` on its target group. */
export const loadBalancerMultiValue: Gateway = ({ headers, ...request }) => ({
  ...balanced(request),
  multiValueHeaders: allValues(lowered([...fromLoadBalancer, ...headers])),
});

/** Events that are no HTTP request. */
export const OTHER_EVENTS: readonly (readonly [what: string, event: object | null])[] = [
  ['nothing', {}],
  [
    'a message of SQS',
    {
      Records: [
        {
          messageId: '059f36b4-87a3-44ab-83d2-661975830a7d',
          receiptHandle: 'AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a',
          body: '{"id":"evt_1"}',
          attributes: { ApproximateReceiveCount: '1' },
          messageAttributes: {},
          eventSource: 'aws:sqs',
          eventSourceARN: 'arn:aws:sqs:eu-central-1:123456789012:orders',
        },
      ],
    },
  ],
  [
    'an event of EventBridge',
    {
      version: '0',
      id: '53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa',
      'detail-type': 'Scheduled Event',
      source: 'aws.events',
      time: '2026-01-01T12:00:00Z',
      resources: ['arn:aws:events:eu-central-1:123456789012:rule/every-minute'],
      detail: {},
    },
  ],
  [
    'a message of a WebSocket API',
    {
      requestContext: { routeKey: '$default', eventType: 'MESSAGE', connectionId: 'L0SM9cOFvHcCIhw=' },
      body: '{"id":"evt_1"}',
      isBase64Encoded: false,
    },
  ],
  ['null', null],
  ['the test event of the console', { key1: 'value1', key2: 'value2', key3: 'value3' }],
];

type Headers = GatewayRequest['headers'];

const fromApiGateway: Headers = [
  ['Host', 'a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com'],
  ['User-Agent', 'commerce-ordering/1.0'],
  ['X-Amzn-Trace-Id', 'Root=1-5e1b4151-5ac6c58f5b5daa6532e4f3ab'],
  ['X-Forwarded-For', '203.0.113.7'],
  ['X-Forwarded-Proto', 'https'],
];

const fromLoadBalancer: Headers = [
  ['host', 'orders-123456789.eu-central-1.elb.amazonaws.com'],
  ['user-agent', 'commerce-ordering/1.0'],
  ['x-amzn-trace-id', 'Root=1-5e1b4151-5ac6c58f5b5daa6532e4f3ab'],
  ['x-forwarded-for', '203.0.113.7'],
  ['x-forwarded-port', '443'],
  ['x-forwarded-proto', 'https'],
];

function payload2({ method = 'POST', headers, body, isBase64Encoded = false }: GatewayRequest, domainName: string) {
  const joined: Record<string, string> = {};
  for (const [name, values] of Object.entries(allValues(lowered([...fromApiGateway, ...headers])))) {
    joined[name] = values.join(',');
  }
  return {
    rawPath: '/webhooks',
    rawQueryString: '',
    headers: joined,
    requestContext: {
      accountId: 'anonymous',
      apiId: domainName.slice(0, domainName.indexOf('.')),
      domainName,
      http: { method, path: '/webhooks', protocol: 'HTTP/1.1', sourceIp: '203.0.113.7', userAgent: 'commerce/1.0' },
      requestId: 'JKJaXmPLvHcESHA=',
      stage: '$default',
      timeEpoch: 1_767_268_800_000,
    },
    ...(body !== null && { body }),
    isBase64Encoded,
  };
}

function balanced({ method = 'POST', body, isBase64Encoded = false }: Omit<GatewayRequest, 'headers'>) {
  const targetGroupArn = 'arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/orders/49e9d65c45c6791a';
  return {
    requestContext: { elb: { targetGroupArn } },
    httpMethod: method,
    path: '/webhooks',
    queryStringParameters: {},
    body: body ?? '',
    isBase64Encoded,
  };
}

function lowered(headers: Headers): Headers {
  return headers.map(([name, value]) => [name.toLowerCase(), value]);
}

function lastValues(headers: Headers): Record<string, string> {
  return Object.fromEntries(headers);
}

function allValues(headers: Headers): Record<string, string[]> {
  const all: Record<string, string[]> = {};
  for (const [name, value] of headers) (all[name] ??= []).push(value);
  return all;
}
