import { clearTimeout, setTimeout } from '../../../host/real-timers.ts';
import { nameOf } from '../../../errors.ts';
import type { Logger } from '../../../host/logger.ts';
import { fieldOf } from '../../../page/safety/posted-form.ts';
import { FAULT_KINDS as DELIVERY_FAULT_KINDS } from '../../../sender/random-faults.ts';
import { durationMs } from '../../clock.ts';
import type { ServiceFault } from '../../faults.ts';
import { FormError, type Act } from '../act.ts';
import { wholeOf } from './order-acts.ts';

/** An answer is not kept waiting for receivers that answer late. */
const WAITED_MS = 3_000;

/** The clock, and what goes wrong on purpose. */
export function clockActs(logger: Logger): Readonly<Record<string, Act>> {
  return {
    '/clock/advance': async ({ sandbox, form }) => {
      const ms = durationMs(fieldOf(form, 'by'));
      const advancing = sandbox.advance(ms);
      const isDone = await endsWithin(advancing, WAITED_MS);
      if (isDone) return { to: '/clock', said: 'advanced', figures: [ms] };
      // Whoever asked for it has his answer.
      advancing.catch((failure: unknown) => {
        logger.error({ error: nameOf(failure) }, 'the sandbox clock did not advance as far as requested');
      });
      return { to: '/clock', said: 'advancing' };
    },

    '/faults': ({ sandbox, form }) => {
      sandbox.faults.add(faultOf(form));
      return { to: '/faults', said: 'fault-added' };
    },

    '/faults/remove': ({ sandbox }) => {
      sandbox.faults.remove();
      return { to: '/faults', said: 'faults-removed' };
    },

    '/faults/:id/remove': ({ sandbox, id }) => {
      sandbox.faults.remove(id);
      return { to: '/faults', said: 'faults-removed' };
    },

    '/delivery-faults': ({ sandbox, form }) => {
      const kind = DELIVERY_FAULT_KINDS.find((one) => one === fieldOf(form, 'kind'));
      const times = wholeOf(form, 'times');
      if (kind === undefined || times === 0)
        throw new FormError('Select a fault, and enter how many times it occurs: 1 or more.');
      sandbox.faults.addToDeliveries(kind, times);
      return { to: '/faults', said: 'fault-added' };
    },

    '/delivery-faults/remove': ({ sandbox }) => {
      sandbox.faults.removeFromDeliveries();
      return { to: '/faults', said: 'faults-removed' };
    },
  };
}

/** As the form has it: what a kind does not take is refused by the sandbox, which knows the rules. */
function faultOf(form: FormData): ServiceFault {
  const text = (name: string) => {
    const value = fieldOf(form, name);
    return value !== '' && { [name]: value };
  };
  const whole = (name: string) => fieldOf(form, name) !== '' && { [name]: wholeOf(form, name) };
  const fault = {
    ...text('kind'),
    ...text('operation'),
    ...text('outcome'),
    ...whole('times'),
    ...whole('status'),
    ...whole('ms'),
  };
  return fault as ServiceFault;
}

/** Rejects with what it rejects with until then. */
async function endsWithin(work: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
