/** By hand, as are all numbers here. */
export interface ModelProduct {
  readonly id: string;
  readonly cents: number;
  readonly stock: number;
}

export const PRODUCTS: readonly ModelProduct[] = [
  { id: 'prod_baguette', cents: 320, stock: 60 },
  { id: 'prod_seeded_rye', cents: 725, stock: 8 },
  { id: 'prod_wedding_cake', cents: 24_000, stock: 1 },
];

export interface ModelLine {
  readonly product: string;
  quantity: number;
}

export type CartStatus = 'Active' | 'Submitted' | 'Cancelled';
export type OrderStatus = 'created' | 'confirmed' | 'ready' | 'completed' | 'cancelled' | 'failed';

/** Equal times: the order of requests. */
interface Due {
  readonly at: number;
  readonly said: number;
}

export interface ModelCart {
  readonly id: string;
  status: CartStatus;
  readonly items: (ModelLine & { readonly id: string })[];
  lastActivity: number;
  told: 'nothing' | 'abandoned' | 'expires soon';
  due: Due | null;
}

export interface ModelOrder {
  readonly id: string;
  status: OrderStatus;
  isSubmitted: boolean;
  readonly lines: readonly ModelLine[];
  readonly cents: number;
  readonly charges: ('charged' | 'declined' | 'refunded')[];
  readyAt: number | null;
  due: Due | null;
}

export interface ModelEvent {
  readonly type: string;
  readonly about: string;
  readonly created: number;
  readonly says: Readonly<Record<string, unknown>>;
}

export type Told = number | string;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NEXT: Readonly<Partial<Record<OrderStatus, OrderStatus>>> = {
  created: 'confirmed',
  confirmed: 'ready',
  ready: 'completed',
};

/** A1 to A6 and A11 in few words. */
export class ServiceModel {
  now: number;
  readonly carts: ModelCart[] = [];
  readonly orders: ModelOrder[] = [];
  readonly stock = new Map(PRODUCTS.map(({ id, stock }) => [id, stock]));
  /** Not seen yet. */
  events: ModelEvent[] = [];
  declines = 0;
  failures = 0;
  #said = 0;

  constructor(now: number) {
    this.now = now;
  }

  cartMade(id: string): void {
    this.carts.push({ id, status: 'Active', items: [], lastActivity: this.now, told: 'nothing', due: this.#in(HOUR) });
  }

  itemAdded(cart: ModelCart, id: string, line: ModelLine): void {
    cart.items.push({ id, ...line });
    this.touch(cart);
  }

  touch(cart: ModelCart): void {
    cart.lastActivity = this.now;
    cart.told = 'nothing';
    cart.due = this.#in(HOUR);
  }

  mayChangeItems({ status }: ModelCart, told: Told): Told {
    return status === 'Active' ? told : 'RESOURCE_CONFLICT';
  }

  setCart(cart: ModelCart, status: CartStatus): Told {
    if (cart.status === status) return 200;
    if (cart.status !== 'Active' || (status === 'Submitted' && cart.items.length === 0)) return 'RESOURCE_CONFLICT';
    cart.status = status;
    cart.due = null;
    return 200;
  }

  mayOrder(lines: readonly ModelLine[]): Told {
    return this.#isInStock(lines) ? 201 : 'INSUFFICIENT_INVENTORY';
  }

  orderMade(id: string, lines: readonly ModelLine[], isDelivered: boolean, tip: number): void {
    const subtotal = lines.reduce((sum, { product, quantity }) => sum + centsOf(product) * quantity, 0);
    const tax = Math.floor((subtotal * 8 + 50) / 100);
    const cents = subtotal + tax + tip + (isDelivered ? 499 : 0);
    const order: ModelOrder = {
      id,
      status: 'created',
      isSubmitted: false,
      lines,
      cents,
      charges: [],
      readyAt: null,
      due: null,
    };
    this.orders.push(order);
    this.#tell(order);
  }

  submit(order: ModelOrder, isGood: boolean): Told {
    if (order.status !== 'created' || order.isSubmitted) return 'RESOURCE_CONFLICT';
    if (!this.#isInStock(order.lines)) return 'INSUFFICIENT_INVENTORY';
    const isDeclined = this.declines > 0 || !isGood;
    if (this.declines > 0) this.declines -= 1;
    order.charges.push(isDeclined ? 'declined' : 'charged');
    if (isDeclined) return 'PAYMENT_FAILED';
    order.isSubmitted = true;
    order.readyAt = this.now + 21 * MINUTE;
    for (const [product, quantity] of sums(order.lines)) this.setStock(product, this.#left(product) - quantity);
    order.due = this.#in(MINUTE);
    return 200;
  }

  /** @returns whether it is legal */
  move(order: ModelOrder, to: OrderStatus): boolean {
    const isEnd = to === 'cancelled' || to === 'failed';
    const isOver = NEXT[order.status] === undefined;
    if (isOver || !(isEnd || NEXT[order.status] === to)) return false;
    order.status = to;
    order.due = null;
    if (to === 'confirmed') {
      order.readyAt = this.now + 20 * MINUTE;
      order.due = this.#in(20 * MINUTE);
    }
    if (to === 'ready') order.due = this.#in(10 * MINUTE);
    if (isEnd && order.isSubmitted) {
      order.charges[order.charges.length - 1] = 'refunded';
      for (const [product, quantity] of sums(order.lines)) this.setStock(product, this.#left(product) + quantity);
    }
    this.#tell(order);
    return true;
  }

  setStock(product: string, quantity: number): void {
    const before = this.#left(product);
    if (before === quantity) return;
    this.stock.set(product, quantity);
    const says = { previous_quantity: before, current_quantity: quantity };
    const tell = (what: string): void => void this.events.push(this.#event(`inventory.${what}`, product, says));
    tell('updated');
    if (before > 5 && quantity <= 5) tell('low_stock');
    if (quantity === 0) tell('out_of_stock');
  }

  advance(ms: number): void {
    const until = this.now + ms;
    for (let next = this.#next(); next !== null && next.due.at <= until; next = this.#next()) {
      this.now = next.due.at;
      next.happen();
    }
    this.now = until;
  }

  #next(): { readonly due: Due; readonly happen: () => void } | null {
    const all = [
      ...this.carts.map((cart) => ({ due: cart.due, happen: () => this.#stepCart(cart) })),
      ...this.orders.map((order) => ({ due: order.due, happen: () => this.#stepOrder(order) })),
    ].filter((one): one is { due: Due; happen: () => void } => one.due !== null);
    return all.toSorted((a, b) => a.due.at - b.due.at || a.due.said - b.due.said)[0] ?? null;
  }

  #stepCart(cart: ModelCart): void {
    if (cart.told === 'expires soon') {
      cart.status = 'Cancelled';
      cart.due = null;
      return;
    }
    const isFirst = cart.told === 'nothing';
    const cents = cart.items.reduce((sum, { product, quantity }) => sum + centsOf(product) * quantity, 0);
    const says = {
      total_value: cents / 100,
      item_count: cart.items.reduce((sum, { quantity }) => sum + quantity, 0),
      last_activity: new Date(cart.lastActivity).toISOString(),
    };
    this.events.push(this.#event(isFirst ? 'cart.abandoned' : 'cart.expires_soon', cart.id, says));
    cart.told = isFirst ? 'abandoned' : 'expires soon';
    cart.due = this.#in((isFirst ? 22 : 1) * HOUR);
  }

  #stepOrder(order: ModelOrder): void {
    const fails = this.failures > 0;
    if (fails) this.failures -= 1;
    this.move(order, fails ? 'failed' : (NEXT[order.status] ?? 'completed'));
  }

  #tell({ id, status, cents, readyAt }: ModelOrder): void {
    const says = {
      status,
      total: cents / 100,
      estimated_ready_time: readyAt === null ? undefined : new Date(readyAt).toISOString(),
    };
    this.events.push(this.#event(`order.${status}`, id, says));
  }

  #event(type: string, about: string, says: ModelEvent['says']): ModelEvent {
    return { type, about, created: this.now, says };
  }

  #in(ms: number): Due {
    this.#said += 1;
    return { at: this.now + ms, said: this.#said };
  }

  #left(product: string): number {
    return this.stock.get(product) ?? 0;
  }

  #isInStock(lines: readonly ModelLine[]): boolean {
    return [...sums(lines)].every(([product, quantity]) => quantity <= this.#left(product));
  }
}

function centsOf(product: string): number {
  return PRODUCTS.find(({ id }) => id === product)?.cents ?? 0;
}

function sums(lines: readonly ModelLine[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { product, quantity } of lines) found.set(product, (found.get(product) ?? 0) + quantity);
  return found;
}
