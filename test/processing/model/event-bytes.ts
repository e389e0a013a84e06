import type { Instant } from '../../../src/events/instant.ts';

const TYPES = ['order.created', 'order.ready', 'order.novel'] as const;
const ENTITIES = ['ord_1', 'ord_2', null] as const;

const CREATED: readonly { readonly text: string; readonly instant: Instant }[] = [
  { text: '2026-01-01T00:00:00.001Z', instant: { ms: 1_767_225_600_001, ns: 0 } },
  { text: '2026-01-01T00:00:00.0010005Z', instant: { ms: 1_767_225_600_001, ns: 500 } },
  { text: '2026-01-01T00:00:00.002Z', instant: { ms: 1_767_225_600_002, ns: 0 } },
  { text: '2026-01-01T01:00:00.002+01:00', instant: { ms: 1_767_225_600_002, ns: 0 } },
  { text: '2026-01-01T00:00:03', instant: { ms: 1_767_225_603_000, ns: 0 } },
];

export interface EventContent {
  readonly type: number;
  readonly entity: number;
  readonly created: number;
  readonly valid: boolean;
  readonly note: number;
}

export const choices = { types: TYPES.length, entities: ENTITIES.length, created: CREATED.length };

export interface ExpectedFacts {
  readonly type: string;
  readonly created: Instant | null;
  readonly entity: string | null;
  readonly valid: boolean;
}

export function bytesOf(id: string, { type, entity, created, valid, note }: EventContent): Uint8Array {
  const data = { id: ENTITIES[entity % ENTITIES.length], note, merchant_id: valid ? 'mer_1' : 7 };
  const envelope = { id, type: TYPES[type % TYPES.length], created: CREATED[created % CREATED.length]?.text, data };
  return Buffer.from(JSON.stringify(valid ? envelope : { ...envelope, created: 7 }));
}

export function factsOf({ type, entity, created, valid }: EventContent): ExpectedFacts {
  const name = TYPES[type % TYPES.length] ?? 'order.created';
  const about = ENTITIES[entity % ENTITIES.length] ?? null;
  return {
    type: name,
    created: valid ? (CREATED[created % CREATED.length]?.instant ?? null) : null,
    entity: valid && about !== null && name !== 'order.novel' ? `order:mer_1:${about}` : null,
    valid,
  };
}
