import { z } from 'zod';
import { type Route, ROUTES } from '../client/routes.ts';
import { assumed, type AssumptionId, type Assumptions } from './assumptions.ts';
import type { ErrorCode } from './errors.ts';
import * as resources from './resources.ts';

export const PERMISSIONS = [
  'carts:read',
  'carts:write',
  'orders:write',
  'payment_methods:read',
  'payment_methods:write',
  'merchants:read',
  'products:read',
] as const;

/** A permission of an API key. */
export type Permission = (typeof PERMISSIONS)[number];

export interface Operation extends Route {
  readonly title: string;
  /** of the interface */
  readonly section: `4.${number}`;
  readonly alias?: `/${string}`;
  readonly permission: Permission;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly status: 200 | 201;
  readonly data: z.ZodType;
  readonly total?: true;
  /** besides `COMMON_ERRORS` */
  readonly errors: readonly ErrorCode[];
  readonly assumptions: readonly AssumptionId[];
}

export const COMMON_ERRORS: readonly ErrorCode[] = [
  'INVALID_API_KEY',
  'RATE_LIMIT_EXCEEDED',
  'INSUFFICIENT_PERMISSIONS',
];

const OF_A_BODY = ['MISSING_REQUIRED_FIELD', 'VALIDATION_ERROR', 'RESOURCE_NOT_FOUND'] as const;

/** The twelve operations of section 4, by the name of their function. */
export const OPERATIONS = {
  createCart: {
    ...ROUTES.createCart,
    title: 'Create Cart',
    section: '4.1',
    permission: 'carts:write',
    body: resources.newCart,
    status: 201,
    data: z.string().meta({ description: "the cart's id", ...assumed('A1') }),
    errors: OF_A_BODY,
    assumptions: ['A1'],
  },
  getCart: {
    ...ROUTES.getCart,
    title: 'Get Cart Details',
    section: '4.2',
    permission: 'carts:read',
    status: 200,
    data: resources.cart,
    errors: ['RESOURCE_NOT_FOUND'],
    assumptions: ['A6'],
  },
  updateCart: {
    ...ROUTES.updateCart,
    title: 'Update Cart',
    section: '4.3',
    permission: 'carts:write',
    body: resources.cartChange,
    status: 200,
    data: z.boolean(),
    errors: [...OF_A_BODY, 'RESOURCE_CONFLICT'],
    assumptions: ['A2'],
  },
  addCartItem: {
    ...ROUTES.addCartItem,
    title: 'Add Cart Item',
    section: '4.4',
    permission: 'carts:write',
    body: resources.newCartItem,
    status: 201,
    data: z.string().meta({ description: "the item's id", ...assumed('A1') }),
    errors: [...OF_A_BODY, 'RESOURCE_CONFLICT'],
    assumptions: ['A1', 'A2', 'A9'],
  },
  updateCartItem: {
    ...ROUTES.updateCartItem,
    title: 'Update Cart Item',
    section: '4.5',
    permission: 'carts:write',
    body: resources.cartItemChange,
    status: 200,
    data: z.boolean(),
    errors: [...OF_A_BODY, 'RESOURCE_CONFLICT'],
    assumptions: ['A2'],
  },
  createOrder: {
    ...ROUTES.createOrder,
    title: 'Create Order',
    section: '4.6',
    permission: 'orders:write',
    body: resources.newOrder,
    status: 201,
    data: resources.order,
    errors: [...OF_A_BODY, 'INSUFFICIENT_INVENTORY'],
    assumptions: ['A3', 'A4', 'A5', 'A9', 'A11'],
  },
  submitOrder: {
    ...ROUTES.submitOrder,
    title: 'Submit Order',
    section: '4.7',
    permission: 'orders:write',
    body: resources.submission,
    status: 200,
    data: resources.order,
    errors: [...OF_A_BODY, 'RESOURCE_CONFLICT', 'INSUFFICIENT_INVENTORY', 'PAYMENT_FAILED'],
    assumptions: ['A3', 'A4', 'A5', 'A6', 'A11'],
  },
  createSetupIntent: {
    ...ROUTES.createSetupIntent,
    title: 'Create Setup Intent',
    section: '4.8',
    permission: 'payment_methods:write',
    body: resources.newSetupIntent,
    status: 201,
    data: resources.setupIntent,
    errors: OF_A_BODY,
    assumptions: ['A11'],
  },
  listPaymentMethods: {
    ...ROUTES.listPaymentMethods,
    title: 'List Payment Methods',
    section: '4.9',
    permission: 'payment_methods:read',
    query: resources.paymentMethodQuery,
    status: 200,
    data: z.array(resources.paymentMethod),
    errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND'],
    assumptions: ['A11'],
  },
  listMerchants: {
    ...ROUTES.listMerchants,
    title: 'List Merchants',
    section: '4.10',
    permission: 'merchants:read',
    query: resources.merchantQuery,
    status: 200,
    data: z.array(resources.merchant),
    total: true,
    errors: ['VALIDATION_ERROR'],
    assumptions: ['A7'],
  },
  getCategory: {
    ...ROUTES.getCategory,
    title: 'Get Category Details',
    section: '4.11',
    permission: 'merchants:read',
    status: 200,
    data: resources.category,
    errors: ['RESOURCE_NOT_FOUND'],
    assumptions: ['A8'],
  },
  searchProducts: {
    ...ROUTES.searchProducts,
    title: 'Search products',
    section: '4.12',
    alias: '/v1/product',
    permission: 'products:read',
    query: resources.productQuery,
    status: 200,
    data: z.array(resources.foundProduct).meta(assumed('A12', { maxItems: 'maxProducts' })),
    errors: ['MISSING_REQUIRED_FIELD', 'VALIDATION_ERROR'],
    assumptions: ['A12'],
  },
} as const satisfies Readonly<Record<keyof typeof ROUTES, Operation>>;

/** The name of an operation. */
export type OperationName = keyof typeof OPERATIONS;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[];

type Named<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Named<Rest> : never;
type Part<O, Name extends string> = O extends { readonly [N in Name]: infer Schema extends z.ZodType }
  ? z.output<Schema>
  : unknown;

export interface Surroundings {
  readonly assumptions: Assumptions;
  readonly origin: string;
}

export interface Input<Name extends OperationName> {
  readonly params: Readonly<Record<Named<(typeof OPERATIONS)[Name]['path']>, string>>;
  readonly query: Part<(typeof OPERATIONS)[Name], 'query'>;
  readonly body: Part<(typeof OPERATIONS)[Name], 'body'>;
}

export interface Result<Name extends OperationName> {
  readonly data: z.output<(typeof OPERATIONS)[Name]['data']>;
  readonly messages?: readonly resources.Message[];
  readonly total?: number;
}
