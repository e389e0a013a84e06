/** The format of the Lambda event: that of a REST API, an HTTP API, a function URL, or an Application Load Balancer. */
export type LambdaShape = 'apigateway-v1' | 'apigateway-v2' | 'function-url' | 'alb';

interface GatewayRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

const REQUEST_ID = 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef';
const ACCOUNT_ID = '123456789012';
const SOURCE_IP = '203.0.113.7';
const TARGET_GROUP = 'arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/webhooks/49e9d65c45c6791a';

export const lambdaEvents: Readonly<Record<LambdaShape, (request: GatewayRequest) => object>> = {
  'apigateway-v1': ({ path, headers, bytes }) => ({
    resource: path,
    path,
    httpMethod: 'POST',
    headers,
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: null,
    stageVariables: null,
    requestContext: {
      accountId: ACCOUNT_ID,
      apiId: 'a1b2c3d4e5',
      httpMethod: 'POST',
      identity: { sourceIp: SOURCE_IP },
      path: `/prod${path}`,
      protocol: 'HTTP/1.1',
      requestId: REQUEST_ID,
      resourcePath: path,
      stage: 'prod',
    },
    ...bodyOf(bytes),
  }),
  'apigateway-v2': (request) => ({
    version: '2.0',
    routeKey: `POST ${request.path}`,
    ...payload2(request, 'a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com'),
  }),
  'function-url': (request) => ({
    version: '2.0',
    routeKey: '$default',
    ...payload2(request, 'abcdefghijklmnop.lambda-url.eu-central-1.on.aws'),
  }),
  alb: ({ path, headers, bytes }) => ({
    requestContext: { elb: { targetGroupArn: TARGET_GROUP } },
    httpMethod: 'POST',
    path,
    queryStringParameters: {},
    headers: lowered(headers),
    ...bodyOf(bytes),
  }),
};

function payload2({ path, headers, bytes }: GatewayRequest, domainName: string): object {
  return {
    rawPath: path,
    rawQueryString: '',
    headers: lowered(headers),
    requestContext: {
      accountId: ACCOUNT_ID,
      apiId: domainName.slice(0, domainName.indexOf('.')),
      domainName,
      http: { method: 'POST', path, protocol: 'HTTP/1.1', sourceIp: SOURCE_IP, userAgent: 'commerce-ordering' },
      requestId: REQUEST_ID,
      stage: '$default',
    },
    ...bodyOf(bytes),
  };
}

function bodyOf(bytes: Uint8Array): { readonly body: string; readonly isBase64Encoded: boolean } {
  const body = Buffer.from(bytes);
  const text = body.toString();
  const isText = Buffer.from(text).equals(body);
  return isText ? { body: text, isBase64Encoded: false } : { body: body.toString('base64'), isBase64Encoded: true };
}

function lowered(headers: GatewayRequest['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
