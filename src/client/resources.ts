/** A diagnostic note in a response (section 2.1 of the service's interface). */
export interface Message {
  readonly context: string;
  readonly level: 'Information' | 'Warning' | 'Error';
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The status of a cart. */
export type CartStatus = 'Active' | 'Submitted' | 'Cancelled';

/** How an order reaches its customer. */
export type FulfillmentMethod = 'Delivery' | 'Pickup' | 'Shipping';

/** A cart (section 2.2). */
export interface Cart {
  readonly id: string;
  readonly user_id: string;
  readonly merchant_id: string;
  readonly location_id: string;
  readonly status: CartStatus;
  readonly fulfillment_method: FulfillmentMethod;
  readonly items: readonly CartItem[];
  readonly created_at: string;
  readonly updated_at: string;
}

/** An item of a cart (section 2.3). */
export interface CartItem {
  readonly id: string;
  readonly cart_id: string;
  readonly product_id: string;
  readonly product_name: string;
  readonly quantity: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** An order (section 2.4). The interface does not show the currency of the amounts. */
export interface Order {
  readonly id: string;
  readonly tip: number;
  readonly subtotal: number;
  readonly tax: number;
  readonly total: number;
  readonly customer: Customer;
  readonly fees: readonly { readonly amount: number }[];
  readonly fee_total: number;
  readonly items: readonly {
    readonly quantity: number;
    readonly price: number;
    readonly product_id: string;
    readonly product_name: string;
  }[];
  readonly merchant_id: string;
  readonly location_id: string;
  readonly dropoff_instructions: string;
}

/** The customer of an order (section 2.5). */
export interface Customer {
  readonly id: string;
  readonly name: string;
  readonly phone: string;
  readonly email: string;
  readonly address: {
    readonly street_number: string;
    readonly street_name: string;
    readonly street_address: string;
    readonly street_address_detail: string;
    readonly city: string;
    readonly region: string;
    readonly postal_code: string;
    readonly country: string;
  };
}

/** A merchant (section 2.6). The interface does not show the elements of the two lists. */
export interface Merchant {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly capabilities: readonly unknown[];
  readonly fulfillment_methods: readonly unknown[];
  readonly payment_connected_account_id: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A category (section 2.7). */
export interface Category {
  readonly id: string;
  readonly merchant_id: string;
  readonly external_id: string;
  readonly name: string;
  readonly parent_id: string | null;
  readonly parent_external_id: string | null;
  readonly depth: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A saved payment method (section 2.8). */
export interface PaymentMethod {
  readonly id: string;
  readonly type: string;
  readonly card: {
    readonly brand: string;
    readonly last4: string;
    readonly exp_month: number;
    readonly exp_year: number;
  };
}

/** The body of `createCart` (section 4.1). */
export interface NewCart {
  readonly user_id?: string;
  readonly location_id?: string;
  readonly status?: CartStatus;
  readonly fulfillment_method?: FulfillmentMethod;
}

/** The body of `addCartItem` (section 4.4). */
export interface NewCartItem {
  readonly product_id: string;
  readonly product_name: string;
  /** A whole number of at least 1. */
  readonly quantity: number;
}

/** The body of `createOrder` (section 4.6). */
export interface NewOrder {
  readonly customer: {
    readonly id?: string;
    readonly name?: string;
    readonly phone_number?: string;
    readonly email?: string;
    readonly address?: {
      readonly city?: string;
      readonly region?: string;
      readonly country?: string;
      readonly street_address?: string;
      readonly postal_code?: string;
      readonly street_address_detail?: string;
    };
  };
  readonly items: readonly { readonly product_id: string; readonly quantity: number }[];
  readonly location_id: string;
  readonly fulfillment_method: FulfillmentMethod;
  readonly tip?: number;
  readonly dropoff_instructions?: string;
}

/** A query parameter. A list is sent as a parameter for each of its values. */
export type QueryValue = string | number | boolean | readonly string[];

/**
 * The query of `listMerchants` (section 4.10). The interface describes the parameters but does not show their names. The
 * names here are those of the sandbox (assumption A7).
 */
export interface MerchantQuery {
  /** The number of the page, from 0. */
  readonly page?: number;
  /** The number of merchants on a page. */
  readonly size?: number;
  /** `property,asc` or `property,desc`. */
  readonly sort?: string | readonly string[];
  readonly [parameter: string]: QueryValue | undefined;
}

/** The query of `searchProducts` (section 4.12). The interface does not list all parameters. */
export interface ProductQuery {
  /** From -90 to 90. */
  readonly latitude: number;
  readonly longitude: number;
  readonly query?: string;
  readonly distance?: number;
  readonly [parameter: string]: QueryValue | undefined;
}
