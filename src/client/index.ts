/**
 * A typed client for the twelve operations of the service. It needs only `fetch`, so it also runs on Workers, Bun and
 * Deno.
 *
 * @module
 */
export { createClient } from './service-client.ts';
export type { Answer, CallOptions, Client, ClientOptions, ClientRetryOptions, LimitState } from './service-client.ts';
export type {
  Cart,
  CartItem,
  CartStatus,
  Category,
  Customer,
  FulfillmentMethod,
  Merchant,
  MerchantQuery,
  Message,
  NewCart,
  NewCartItem,
  NewOrder,
  Order,
  PaymentMethod,
  ProductQuery,
  QueryValue,
} from './resources.ts';
export {
  ConnectionError,
  InsufficientInventoryError,
  InsufficientPermissionsError,
  InvalidApiKeyError,
  MissingRequiredFieldError,
  OutageError,
  PaymentFailedError,
  RateLimitExceededError,
  ResourceConflictError,
  ResourceNotFoundError,
  ServiceError,
  UnexpectedAnswerError,
  ValidationError,
} from './service-errors.ts';
export type { ErrorDetail } from './service-errors.ts';
