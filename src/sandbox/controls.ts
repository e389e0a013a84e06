import { assertOption, whole } from '../option-rules.ts';
import type { FaultKind as DeliveryFaultKind } from '../sender/faults.ts';
import type { Assumptions } from './assumptions.ts';
import {
  accountOf,
  createKey,
  deleteKey,
  findKey,
  listKeys,
  rotateKey,
  type CreatedKey,
  type KeyRecord,
  type NewKey,
} from './keys.ts';
import {
  addDeliveryFault,
  listDeliveryFaults,
  removeDeliveryFaults,
  type PendingDeliveryFault,
  type Dispatch,
} from './deliveries.ts';
import {
  countDeliveries,
  findDelivery,
  listDeliveries,
  listTries,
  type Delivery,
  type DeliveryFilter,
  type DeliveryRecord,
  type DeliveryState,
  type DeliveryTry,
} from './delivery-list.ts';
import { listDue, type NextDue } from './due.ts';
import {
  addEndpoint,
  changeEndpoint,
  listEndpoints,
  newSecret,
  removeEndpoint,
  type Endpoint,
  type EndpointSettings,
} from './endpoints.ts';
import { sendByHand, type EventByHand } from './events.ts';
import { addFault, listFaults, removeFaults, type PendingFault, type ServiceFault } from './faults.ts';
import { listStock, MOST_STOCK, setStock, type StockLevel } from './inventory.ts';
import {
  countOrders,
  findOrder,
  listOrders,
  type OrderFilter,
  type OrderRecord,
  type OrderSummary,
  moveOrder,
  type OrderByHand,
  placeByHand,
} from './orders.ts';
import { listUse, type Limit, type LimitUse, type PlanLimits, type PlanName } from './limits.ts';
import { listCharges, type ChargeRecord } from './payments.ts';
import type { OrderStatus } from './resources.ts';
import type { Store } from './store.ts';

/** Controls of a sandbox, in addition to the operations. In the real service, you use the dashboard instead. */
export interface Controls {
  /** API keys (sections 5.2 and 5.7 of the service's interface). */
  readonly keys: {
    /** Lists keys, oldest first. */
    readonly list: () => readonly KeyRecord[];
    /** Returns the key with this value. `null` if the key is unknown, deleted or expired. */
    readonly find: (value: string) => KeyRecord | null;
    /**
     * Creates a key.
     *
     * @throws ConfigurationError `INVALID_OPTION` for an unknown permission
     */
    readonly create: (key?: NewKey) => CreatedKey;
    /**
     * Copies a key. The old key works until you delete it.
     *
     * @throws ApiError `RESOURCE_NOT_FOUND`
     */
    readonly rotate: (id: string) => CreatedKey;
    /**
     * Deletes a key.
     *
     * @throws ApiError `RESOURCE_NOT_FOUND`
     */
    readonly delete: (id: string) => void;
  };
  /** Deliberate faults. */
  readonly faults: {
    /** Lists pending faults. */
    readonly list: () => readonly PendingFault[];
    /**
     * Adds a fault.
     *
     * @returns its id
     * @throws ConfigurationError `INVALID_OPTION`
     */
    readonly add: (fault: ServiceFault) => string;
    /** Removes one fault or all faults. */
    readonly remove: (id?: string) => void;
    /**
     * Adds a fault of this kind to each of the next `times` delivery attempts; 1 by default.
     *
     * @throws ConfigurationError `INVALID_OPTION`
     */
    readonly addToDeliveries: (kind: DeliveryFaultKind, times?: number) => void;
    /** Lists pending delivery faults, in their order. */
    readonly ofDeliveries: () => readonly PendingDeliveryFault[];
    /** Removes one pending delivery fault or all. Attempts that already have a fault keep it. */
    readonly removeFromDeliveries: (id?: string) => void;
  };
  /** Orders, and changes of their status by hand (assumption A3). */
  readonly orders: {
    /** Lists orders, newest first; 100 by default. */
    readonly list: (most?: number, filter?: OrderFilter) => readonly OrderSummary[];
    /** Returns one order with its body, or `null` if the order is unknown. */
    readonly find: (id: string) => OrderRecord | null;
    /** Returns the number of orders with each status. */
    readonly counts: () => Readonly<Record<OrderStatus, number>>;
    /** Returns the charges, declines and refunds of an order, oldest first. */
    readonly charges: (id: string) => readonly ChargeRecord[];
    /**
     * Places an order. With a payment method, the order is also submitted; a declined payment leaves it unsubmitted.
     *
     * @returns its id
     * @throws ApiError `RESOURCE_NOT_FOUND` or `INSUFFICIENT_INVENTORY`
     * @throws ConfigurationError `INVALID_OPTION` for an invalid quantity
     */
    readonly place: (order: OrderByHand) => string;
    /**
     * Changes the status of an order.
     *
     * @throws ApiError `RESOURCE_NOT_FOUND`, or `RESOURCE_CONFLICT` for a status that cannot follow
     */
    readonly move: (id: string, to: OrderStatus) => void;
  };
  /** The stock of each product. */
  readonly stock: {
    readonly list: () => readonly StockLevel[];
    /**
     * Sets the stock of a product.
     *
     * @throws ApiError `RESOURCE_NOT_FOUND`
     * @throws ConfigurationError `INVALID_OPTION` for an invalid quantity
     */
    readonly set: (locationId: string, productId: string, quantity: number) => void;
  };
  /** Webhook endpoints (section 6 of the service's interface). */
  readonly webhooks: {
    /** Lists endpoints, oldest first. */
    readonly list: () => readonly Endpoint[];
    /**
     * Registers an endpoint.
     *
     * @returns its id
     * @throws ConfigurationError `INVALID_OPTION`
     */
    readonly add: (endpoint: EndpointSettings) => string;
    /**
     * Changes an endpoint. Returns `false` if the endpoint does not exist.
     *
     * @throws ConfigurationError `INVALID_OPTION`
     */
    readonly change: (id: string, settings: Partial<EndpointSettings>) => boolean;
    /** Removes an endpoint and its pending deliveries. Returns `false` if the endpoint does not exist. */
    readonly remove: (id: string) => boolean;
    /** Creates a signing secret for `add` or `change`. The sandbox neither keeps nor shows this secret. */
    readonly newSecret: () => string;
  };
  /** Events that no operation creates. */
  readonly events: {
    /**
     * Sends an event to each endpoint that receives its type. The event may have your own type or fields; `buildEvent` of
     * hookbox/testing checks them with your schema. The sandbox sets id and time. With a frozen clock, `advance(0)` delivers
     * the event.
     *
     * @returns its id
     * @throws ConfigurationError `INVALID_OPTION`
     */
    readonly send: (event: EventByHand) => string;
  };
  /** Deliveries and dead letters (section 6.4 of the service's interface). */
  readonly deliveries: {
    /** Lists deliveries, newest first. */
    readonly list: (filter?: DeliveryFilter) => readonly Delivery[];
    /** Returns one delivery with its body, or `null` if the delivery is unknown. */
    readonly find: (id: number) => DeliveryRecord | null;
    /** Returns the number of deliveries in each state. */
    readonly counts: () => Readonly<Record<DeliveryState, number>>;
    /** Lists the attempts at a delivery, oldest first. */
    readonly tries: (id: number) => readonly DeliveryTry[];
    /** Sends a failed delivery once more; a frozen clock does so at the next `advance`. Returns `false` if that is impossible. */
    readonly retry: (id: number) => boolean;
    /**
     * Sends all dead letters of an endpoint once more.
     *
     * @returns their number
     */
    readonly retryDead: (endpoint: string) => number;
    /** Lists deliveries that are waiting for a response from their receiver. */
    readonly underWay: () => readonly Delivery[];
  };
  /** Facts about the clock, in addition to `now` and `advance`. */
  readonly clock: {
    readonly kind: 'frozen' | 'real';
    /** Lists the next changes, earliest first; 20 by default. */
    readonly due: (most?: number) => readonly NextDue[];
  };
  /** The limits of the plan (section 8 of the service's interface). */
  readonly limits: {
    /** The name of the plan. `null` if you set your own limits. */
    readonly plan: PlanName | null;
    /** Returns how much of each limit a key has used. Empty without limits. */
    readonly use: (keyId: string) => readonly LimitUse[];
  };
  /** Returns a number that grows with each change in the sandbox. */
  readonly version: () => number;
}

interface ControlsOptions {
  readonly assumptions: Assumptions;
  readonly plan: PlanName | PlanLimits;
  readonly limits: readonly Limit[];
  readonly allowRemote: boolean;
}

/** Each call is one transaction. */
export function createControls(
  store: Store,
  dispatch: Dispatch,
  { assumptions, plan, limits, allowRemote }: ControlsOptions,
): Controls {
  const { signedUpMs } = accountOf(store);
  let version = 0;
  store.onCommit(() => (version += 1));
  return {
    keys: {
      list: () => listKeys(store),
      find: (value) => findKey(store, value, store.clock.now()),
      create: (key) => store.write((tx) => createKey(tx, store.seed, key)),
      rotate: (id) => store.write((tx) => rotateKey(tx, store.seed, id)),
      delete: (id) => store.write((tx) => deleteKey(tx, id)),
    },
    faults: {
      list: () => listFaults(store),
      add: (fault) => store.write((tx) => addFault(tx, fault)),
      remove: (id) => store.write((tx) => removeFaults(tx, id)),
      addToDeliveries: (kind, times = 1) => store.write((tx) => addDeliveryFault(tx, kind, times)),
      ofDeliveries: () => listDeliveryFaults(store),
      removeFromDeliveries: (id) => store.write((tx) => removeDeliveryFaults(tx, id)),
    },
    orders: {
      list: (most = 100, filter = {}) => listOrders(store, most, filter),
      find: (id) => findOrder(store, id),
      counts: () => countOrders(store),
      charges: (id) => listCharges(store, id),
      place: (order) => store.write((tx) => placeByHand(tx, order, { assumptions, origin: '' })),
      move: (id, to) => store.write((tx) => moveOrder(tx, id, to, assumptions)),
    },
    stock: {
      list: () => listStock(store),
      set(locationId, productId, quantity) {
        assertOption('quantity', quantity, whole(0, MOST_STOCK));
        store.write((tx) => setStock(tx, locationId, productId, quantity, assumptions));
      },
    },
    webhooks: {
      list: () => listEndpoints(store),
      add: (endpoint) => store.write((tx) => addEndpoint(tx, endpoint, allowRemote)),
      change: (id, settings) => store.write((tx) => changeEndpoint(tx, id, settings, allowRemote)),
      remove: (id) => store.write((tx) => removeEndpoint(tx, id)),
      newSecret: () => store.write((tx) => newSecret(tx, store.seed)),
    },
    events: {
      send: (event) => store.write((tx) => sendByHand(tx, event)),
    },
    deliveries: {
      list: (filter) => listDeliveries(store, filter),
      find: (id) => findDelivery(store, id),
      counts: () => countDeliveries(store),
      tries: (id) => listTries(store, id),
      retry: (id) => dispatch.retry(id),
      retryDead: (endpoint) => dispatch.retryDead(endpoint),
      underWay: () => dispatch.underWay().flatMap((id) => findDelivery(store, id) ?? []),
    },
    clock: {
      kind: store.clock.kind,
      due: (most = 20) => listDue(store, most),
    },
    limits: {
      plan: typeof plan === 'string' ? plan : null,
      use: (keyId) => listUse(store, keyId, limits, { signedUpMs, now: store.clock.now() }),
    },
    version: () => version,
  };
}
