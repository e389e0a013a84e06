import { ConfigurationError } from '../errors.ts';
import type { FaultKind as DeliveryFaultKind } from '../sender/faults.ts';
import type { Assumptions } from './assumptions.ts';
import { accountOf } from './account.ts';
import { addDeliveryFault, listDeliveryFaults, removeDeliveryFaults, type PendingDeliveryFault } from './deliveries.ts';
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
import type { Dispatch } from './dispatch.ts';
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
  createKey,
  deleteKey,
  findKey,
  listKeys,
  rotateKey,
  type CreatedKey,
  type KeyRecord,
  type NewKey,
} from './keys.ts';
import type { OrderStatus } from './order-moves.ts';
import { listUse, type Limit, type LimitUse, type PlanLimits, type PlanName } from './limits.ts';
import {
  countOrders,
  findOrder,
  listOrders,
  type OrderFilter,
  type OrderRecord,
  type OrderSummary,
} from './order-list.ts';
import { moveOrder } from './orders.ts';
import { listCharges, type ChargeRecord } from './payments.ts';
import type { Store } from './store.ts';

/** What is done to a sandbox beside its operations; with the service itself it is done in its dashboard. */
export interface Controls {
  /** API keys (interface 5.2 and 5.7) */
  readonly keys: {
    /** the oldest first */
    readonly list: () => readonly KeyRecord[];
    /** the one with a value; `null` where that is unknown, was deleted or has expired */
    readonly find: (value: string) => KeyRecord | null;
    /** @throws ConfigurationError `INVALID_OPTION` for permissions that do not exist */
    readonly create: (key?: NewKey) => CreatedKey;
    /** Makes another one like it; the old one works until it is deleted. @throws ApiError `RESOURCE_NOT_FOUND` */
    readonly rotate: (id: string) => CreatedKey;
    /** @throws ApiError `RESOURCE_NOT_FOUND` */
    readonly delete: (id: string) => void;
  };
  /** what goes wrong on purpose */
  readonly faults: {
    /** what waits for its time */
    readonly list: () => readonly PendingFault[];
    /** @returns its id. @throws ConfigurationError `INVALID_OPTION` */
    readonly add: (fault: ServiceFault) => string;
    /** one of them, or all */
    readonly remove: (id?: string) => void;
    /** Has the next so many tries of deliveries go wrong in one way; one unless set. @throws ConfigurationError for no such way */
    readonly addToDeliveries: (kind: DeliveryFaultKind, times?: number) => void;
    /** what deliveries still wait for of it, in this order */
    readonly ofDeliveries: () => readonly PendingDeliveryFault[];
    /** has no more deliveries go wrong, but for tries that it was dealt to already */
    readonly removeFromDeliveries: () => void;
  };
  /** orders, and their moves by hand (A3) */
  readonly orders: {
    /** the newest first; 100 unless set */
    readonly list: (most?: number, filter?: OrderFilter) => readonly OrderSummary[];
    /** one with its body; `null` where there is none */
    readonly find: (id: string) => OrderRecord | null;
    /** how many there are in each state */
    readonly counts: () => Readonly<Record<OrderStatus, number>>;
    /** what was charged for one, and what was declined or given back; the oldest first */
    readonly charges: (id: string) => readonly ChargeRecord[];
    /** @throws ApiError `RESOURCE_NOT_FOUND`, or `RESOURCE_CONFLICT` for a move that is not legal */
    readonly move: (id: string, to: OrderStatus) => void;
  };
  /** how much of each product there is */
  readonly stock: {
    readonly list: () => readonly StockLevel[];
    /** @throws ApiError `RESOURCE_NOT_FOUND` for a product that is not sold there; ConfigurationError for no quantity */
    readonly set: (locationId: string, productId: string, quantity: number) => void;
  };
  /** where webhooks go (interface 6) */
  readonly webhooks: {
    /** the oldest first */
    readonly list: () => readonly Endpoint[];
    /** @returns its id. @throws ConfigurationError for an address, a secret or a type that cannot work */
    readonly add: (endpoint: EndpointSettings) => string;
    /** `false` where there is none. @throws ConfigurationError as `add` */
    readonly change: (id: string, settings: Partial<EndpointSettings>) => boolean;
    /** `false` where there is none; what waits for it is dropped */
    readonly remove: (id: string) => boolean;
    /** makes a signing secret, for `add` or `change`: nothing keeps it before that, and nothing tells it after that */
    readonly newSecret: () => string;
  };
  /** events that no operation makes */
  readonly events: {
    /**
     * Sends one to every endpoint that takes all events, or its type: one of a type or with fields of your own. `buildEvent` of
     * hookbox/testing makes it, and checks it with your schema; its id and its time are then those of the sandbox. Nothing else
     * changes by it. On a frozen clock `advance(0)` delivers it.
     *
     * @returns its id
     * @throws ConfigurationError `INVALID_OPTION` for a type or data that no event can have
     */
    readonly send: (event: EventByHand) => string;
  };
  /** deliveries and dead letters (interface 6.4) */
  readonly deliveries: {
    /** the newest first */
    readonly list: (filter?: DeliveryFilter) => readonly Delivery[];
    /** one with what is delivered; `null` where there is none */
    readonly find: (id: number) => DeliveryRecord | null;
    /** how many there are in each state */
    readonly counts: () => Readonly<Record<DeliveryState, number>>;
    /** what was tried of one, the oldest first */
    readonly tries: (id: number) => readonly DeliveryTry[];
    /** Tries once more what has failed; with the next `advance` on a frozen clock. `false` where that cannot be. */
    readonly retry: (id: number) => boolean;
    /** The same with all dead letters of an endpoint. @returns how many there were */
    readonly retryDead: (endpoint: string) => number;
    /** those that were sent and wait for their receiver's answer, at this moment */
    readonly underWay: () => readonly Delivery[];
  };
  /** the clock, beside `now` and `advance` */
  readonly clock: {
    readonly kind: 'frozen' | 'real';
    /** what happens next, the earliest first; 20 unless set */
    readonly due: (most?: number) => readonly NextDue[];
  };
  /** the limits of the plan (interface 8) */
  readonly limits: {
    /** the name of the plan; `null` for limits of your own */
    readonly plan: PlanName | null;
    /** what a key has used of each window that it has to pass; empty without limits */
    readonly use: (keyId: string) => readonly LimitUse[];
  };
  /** a number that grows with whatever changes, for who looks whether something has */
  readonly version: () => number;
}

/** What controls are made of. */
export interface ControlsOptions {
  readonly assumptions: Assumptions;
  readonly plan: PlanName | PlanLimits;
  readonly limits: readonly Limit[];
  readonly allowRemote: boolean;
}

/** Each of them is one transaction. */
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
      removeFromDeliveries: () => store.write(removeDeliveryFaults),
    },
    orders: {
      list: (most = 100, filter = {}) => listOrders(store, most, filter),
      find: (id) => findOrder(store, id),
      counts: () => countOrders(store),
      charges: (id) => listCharges(store, id),
      move: (id, to) => store.write((tx) => moveOrder(tx, id, to, assumptions)),
    },
    stock: {
      list: () => listStock(store),
      set(locationId, productId, quantity) {
        if (!Number.isInteger(quantity) || quantity < 0 || quantity > MOST_STOCK) {
          throw new ConfigurationError('INVALID_OPTION', `quantity must be a whole number from 0 to ${MOST_STOCK}.`);
        }
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
