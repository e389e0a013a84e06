/** Events as API Gateway (REST and HTTP), a function URL and a load balancer hand them to a function. */
import type { SignedOrder } from './deliveries.ts';

export interface Request extends Pick<SignedOrder, 'body' | 'headers'> {
  readonly method?: string;
  /** the body in base64, flagged: what each of them does with what it takes for binary */
  readonly base64?: boolean;
}

type Event = Readonly<Record<string, unknown>>;

const SENDER = { 'User-Agent': 'Commerce-Ordering-Service/1.0', Accept: '*/*' };
const FORWARDED = { 'X-Forwarded-For': '203.0.113.7', 'X-Forwarded-Port': '443', 'X-Forwarded-Proto': 'https' };
const TRACE = 'Root=1-69565ab0-3d1f5b6e2c8a4f7b9d0e1f23';

function bodyOf({ body, base64 = false }: Request): { body: string; isBase64Encoded: boolean } {
  return { body: body.toString(base64 ? 'base64' : 'utf8'), isBase64Encoded: base64 };
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function multiValue(headers: Readonly<Record<string, string>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
}

/** API Gateway, REST API (payload version 1.0), as a Lambda proxy integration. */
export function restApi(request: Request): Event {
  const { method = 'POST' } = request;
  const host = '3xk7p1q2r4.execute-api.eu-central-1.amazonaws.com';
  const headers = { ...SENDER, ...request.headers, Host: host, 'X-Amzn-Trace-Id': TRACE, ...FORWARDED };
  return {
    resource: '/webhooks',
    path: '/webhooks',
    httpMethod: method,
    headers,
    multiValueHeaders: multiValue(headers),
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    pathParameters: null,
    stageVariables: null,
    requestContext: {
      resourceId: 'a1b2c3',
      resourcePath: '/webhooks',
      httpMethod: method,
      extendedRequestId: 'Xk2pLFt7liAFbQw=',
      requestTime: '01/Jan/2026:12:00:00 +0000',
      path: '/prod/webhooks',
      accountId: '123456789012',
      protocol: 'HTTP/1.1',
      stage: 'prod',
      domainPrefix: '3xk7p1q2r4',
      requestTimeEpoch: 1767268800000,
      requestId: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
      identity: { cognitoIdentityPoolId: null, sourceIp: '203.0.113.7', userAgent: SENDER['User-Agent'], user: null },
      domainName: host,
      apiId: '3xk7p1q2r4',
    },
    ...bodyOf(request),
  };
}

/** API Gateway, HTTP API (payload version 2.0). */
export function httpApi(request: Request): Event {
  const host = 'r3pmxmplak.execute-api.eu-central-1.amazonaws.com';
  return version2(request, host, { routeKey: 'POST /webhooks', accountId: '123456789012', apiId: 'r3pmxmplak' });
}

/** A function URL: the same version, with names of its own. */
export function functionUrl(request: Request): Event {
  const id = 'yzrqyqzc5m4xgz3t4xmpl2w6rq0abcde';
  const host = `${id}.lambda-url.eu-central-1.on.aws`;
  return version2(request, host, { routeKey: '$default', accountId: 'anonymous', apiId: id });
}

function version2(
  request: Request,
  domainName: string,
  { routeKey, accountId, apiId }: { routeKey: string; accountId: string; apiId: string },
): Event {
  const { method = 'POST' } = request;
  const length = String(request.body.byteLength);
  return {
    version: '2.0',
    routeKey,
    rawPath: '/webhooks',
    rawQueryString: '',
    headers: {
      ...lowerCase({ ...SENDER, ...request.headers, ...FORWARDED }),
      'content-length': length,
      host: domainName,
      'x-amzn-trace-id': TRACE,
    },
    requestContext: {
      accountId,
      apiId,
      domainName,
      domainPrefix: domainName.split('.')[0],
      http: {
        method,
        path: '/webhooks',
        protocol: 'HTTP/1.1',
        sourceIp: '203.0.113.7',
        userAgent: SENDER['User-Agent'],
      },
      requestId: 'JKJaXmPLvHcESHA=',
      routeKey,
      stage: '$default',
      time: '01/Jan/2026:12:00:00 +0000',
      timeEpoch: 1767268800000,
    },
    ...bodyOf(request),
  };
}

const ELB = {
  elb: {
    targetGroupArn: 'arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/webhooks/6d0ecf831eec9f09',
  },
};

/** An Application Load Balancer. */
export function loadBalancer(request: Request): Event {
  const { method = 'POST' } = request;
  const headers = lowerCase({ ...SENDER, ...request.headers, ...FORWARDED, Host: 'hooks.shop.example' });
  const all = { ...headers, 'content-length': String(request.body.byteLength), 'x-amzn-trace-id': TRACE };
  return {
    requestContext: ELB,
    httpMethod: method,
    path: '/webhooks',
    queryStringParameters: {},
    headers: all,
    ...bodyOf(request),
  };
}

/** The same with multi-value headers switched on in the target group. */
export function loadBalancerMultiValue(request: Request): Event {
  const { headers, queryStringParameters: _, ...rest } = loadBalancer(request);
  return {
    ...rest,
    multiValueQueryStringParameters: {},
    multiValueHeaders: multiValue(headers as Readonly<Record<string, string>>),
  };
}
