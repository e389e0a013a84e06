import * as gateways from '../adapters/lambda-events.ts';
import type { SignedOrder } from './deliveries.ts';

export interface Request extends Pick<SignedOrder, 'body' | 'headers'> {
  readonly method?: string;
  /** In base64 with its flag, as gateways do with a binary body. */
  readonly base64?: boolean;
}

export const restApi = of(gateways.restApi);
export const httpApi = of(gateways.httpApiPayload2);
export const functionUrl = of(gateways.functionUrl);
export const loadBalancer = of(gateways.loadBalancer);
export const loadBalancerMultiValue = of(gateways.loadBalancerMultiValue);

function of(gateway: gateways.Gateway): (request: Request) => object {
  return ({ method = 'POST', headers, body, base64 = false }) =>
    gateway({
      method,
      headers: Object.entries(headers),
      body: body.toString(base64 ? 'base64' : 'utf8'),
      isBase64Encoded: base64,
    });
}
