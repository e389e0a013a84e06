import { ConfigurationError } from '../errors.ts';
import { isFailing, type Fault, type FaultKind, type FaultPlan } from './faults.ts';
import { oneOf, seeded, whole } from './seeded-random.ts';
import { MAX_ATTEMPTS } from './retry-schedule.ts';

/** How many faults are dealt, and to whom. */
export interface RandomFaultOptions {
  readonly seed: number;
  /** how many there are, all told */
  readonly count: number;
  /** the events they are dealt to */
  readonly ids: readonly string[];
  /** all kinds unless set */
  readonly kinds?: readonly FaultKind[];
}

/** The last try is left alone, so that every event can be delivered. */
const MOST_FOR_ONE = MAX_ATTEMPTS - 1;
/** How likely a try has a fault that lets it succeed, beside another. */
const BESIDE = 0.25;

/** Makes a fault of each kind, none of them so slow that it takes more than a moment of real time. */
const MAKE = {
  late: (random) => ({ kind: 'late', ms: whole(random, 1_000, 600_000) }),
  burst: () => ({ kind: 'burst', everyMs: 60_000 }),
  duplicate: (random) => ({ kind: 'duplicate', copies: whole(random, 1, 3) }),
  'tampered-body': (random) => ({ kind: 'tampered-body', where: random() }),
  'tampered-signature': (random) => ({ kind: 'tampered-signature', where: random() }),
  cut: (random) => ({ kind: 'cut', where: random() }),
  'slow-body': (random) => ({ kind: 'slow-body', ms: whole(random, 10, 60) }),
  'lost-answer': () => ({ kind: 'lost-answer' }),
} as const satisfies Record<FaultKind, (random: () => number) => Fault>;

/** All of them. */
export const FAULT_KINDS = Object.keys(MAKE) as readonly FaultKind[]; // the keys of the record above

const BESIDE_KINDS: readonly FaultKind[] = ['late', 'burst', 'duplicate'];

/** Makes a fault of a kind. */
export function randomFault(kind: FaultKind, random: () => number): Fault {
  return MAKE[kind](random);
}

/**
 * Deals exactly so many faults to the first six tries of events. Each depends on the seed, the event and the try, and on
 * nothing that happens.
 *
 * @throws ConfigurationError when there are too many for the events, or no kind that makes a try fail
 */
export function randomFaults({ seed, count, ids, kinds = FAULT_KINDS }: RandomFaultOptions): FaultPlan {
  const failing = kinds.filter((kind) => isFailing(randomFault(kind, () => 0)));
  if (failing.length === 0) {
    const message =
      'Only a failed attempt is followed by another. Add at least one kind of fault that makes an attempt fail.';
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  const shares = sharesOf(seed, count, ids);
  const plans = new Map<string, readonly (readonly Fault[])[]>();
  for (const [id, share] of shares) plans.set(id, planned(seed, id, share, kinds, failing));
  return (id, attempt) => plans.get(id)?.[attempt - 1] ?? [];
}

/** How many faults each event gets. */
function sharesOf(seed: number, count: number, ids: readonly string[]): ReadonlyMap<string, number> {
  if (count > ids.length * MOST_FOR_ONE) {
    const message =
      `${ids.length} events can have at most ${ids.length * MOST_FOR_ONE} faults (${MOST_FOR_ONE} each), not ` +
      `${count}.`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  const shares = new Map<string, number>();
  let open = [...ids];
  for (let dealt = 0; dealt < count; dealt += 1) {
    const id = oneOf(seeded(seed, 'deal', dealt), open);
    const share = (shares.get(id) ?? 0) + 1;
    shares.set(id, share);
    if (share === MOST_FOR_ONE) open = open.filter((other) => other !== id);
  }
  return shares;
}

/** The faults of one event: all its tries fail before the last that has any. */
function planned(
  seed: number,
  id: string,
  share: number,
  kinds: readonly FaultKind[],
  failing: readonly FaultKind[],
): readonly (readonly Fault[])[] {
  const plan: (readonly Fault[])[] = [];
  let left = share;
  while (left > 0) {
    const random = seeded(seed, id, plan.length + 1);
    const faults: Fault[] = [];
    for (const kind of BESIDE_KINDS) {
      if (random() >= BESIDE || left <= faults.length || !kinds.includes(kind)) continue;
      faults.push(randomFault(kind, random));
    }
    if (faults.length < left) {
      const isLast = faults.length + 1 === left;
      const possible = isLast ? kinds.filter((kind) => !faults.some((fault) => fault.kind === kind)) : failing;
      faults.push(randomFault(oneOf(random, possible), random));
    }
    plan.push(faults);
    left -= faults.length;
  }
  return plan;
}
