import type { Sandbox, ServiceFault } from '../../sandbox/index.ts';
import { FAULT_KINDS } from '../../sandbox/faults.ts';
import { FAULT_KINDS as DELIVERY_FAULT_KINDS } from '../../sender/random-faults.ts';
import { usageError } from '../shared/output.ts';

type DeliveryFaultKind = Parameters<Sandbox['faults']['addToDeliveries']>[0];

/** Before the kind of a fault of deliveries: `lost-answer` is one of operations, too. */
export const OF_DELIVERIES = 'delivery:';

const KINDS: ReadonlySet<string> = new Set(FAULT_KINDS);
const DELIVERY_KINDS = DELIVERY_FAULT_KINDS.map((kind) => OF_DELIVERIES + kind).join(', ');

/**
 * Has something go wrong as a text says it: `before,operation=createOrder,times=3`, or `delivery:cut,times=2`.
 *
 * @throws CommandError or ConfigurationError for what is no fault
 */
export function addFault({ faults }: Sandbox, text: string): void {
  const [kind = '', ...settings] = text.split(',').map((part) => part.trim());
  const fault = Object.fromEntries(settings.map((setting) => readSetting(setting, text)));
  if (!kind.startsWith(OF_DELIVERIES)) {
    if (!KINDS.has(kind)) throw usageError(`fault: kind must be one of ${[...KINDS].join(', ')}, ${DELIVERY_KINDS}.`);
    faults.add({ ...fault, kind } as ServiceFault); // which checks it
    return;
  }
  const { times = 1, ...others } = fault;
  if (!Number.isSafeInteger(times) || Number(times) < 1 || Object.keys(others).length > 0) {
    throw usageError(`${JSON.stringify(text)}: a delivery fault takes only times=n, with n above 0.`);
  }
  faults.addToDeliveries(kind.slice(OF_DELIVERIES.length) as DeliveryFaultKind, Number(times)); // which checks it
}

function readSetting(setting: string, text: string): readonly [name: string, value: string | number] {
  const [, name, value] = /^(\w+)=(.+)$/.exec(setting) ?? [];
  if (name === undefined || value === undefined) {
    throw usageError(
      `${JSON.stringify(text)} is not a fault. Use a kind and settings, such as before,operation=createOrder.`,
    );
  }
  return [name, /^\d+$/.test(value) ? Number(value) : value];
}
