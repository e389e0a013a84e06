import { NOTHING_NEXT, type DueEvent, type ExpiredEvent, type HeldEvent } from '../../../src/inbox/rules/store.ts';

export { NOTHING_NEXT };

export function dueEvent(seq: number, parts: Partial<DueEvent> = {}): DueEvent {
  return {
    seq,
    endpoint: 'default',
    type: 'order.created',
    entity: null,
    created: { ms: seq, ns: 0 },
    crashes: 0,
    bytes: 10,
    trigger: 'auto',
    hasLease: false,
    front: undefined,
    isSuperseded: false,
    ...parts,
  };
}

export function heldEvent(parts: Partial<HeldEvent> = {}): HeldEvent {
  return {
    seq: 7,
    fence: 2,
    endpoint: 'default',
    entity: 'order',
    type: 'order.created',
    created: { ms: 7, ns: 0 },
    attempt: 3,
    trigger: 'manual',
    claimedAt: 900,
    yields: false,
    hasEffect: false,
    isProcessed: false,
    isClosing: false,
    next: NOTHING_NEXT,
    holdsBack: true,
    ...parts,
  };
}

export function expiredEvent(seq: number, parts: Partial<ExpiredEvent> = {}): ExpiredEvent {
  return { ...heldEvent({ seq, fence: 1 }), id: `evt_${seq}`, crashes: 0, bytes: 10, ...parts };
}
