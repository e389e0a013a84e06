import { describe, expect, it } from 'vitest';
import { answerOne, claim, claimOne } from '../../../src/inbox/rules/claim.ts';
import type { Candidate, EventToRun } from '../../../src/inbox/rules/engine.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { EVERYTHING, type ClaimRequest, type Scope } from '../../../src/inbox/work.ts';
import { scripted, sliceOf } from './scripted-engine.ts';

const REQUEST: ClaimRequest = { ...EVERYTHING, now: 10_000, leaseMs: 1_000, ordered: true };
const candidate = (seq: number, parts: Partial<Candidate> = {}): Candidate => ({
  seq,
  endpoint: 'default',
  type: 'order.created',
  entity: null,
  created: { ms: 1, ns: 0 },
  crashes: 0,
  bytes: 10,
  ...parts,
});

/** Gives out what was not claimed or parked yet. */
function engineOf(due: readonly Candidate[], replies: Parameters<typeof scripted>[0] = {}) {
  const gone = new Set<number>();
  return scripted({
    followClock: () => false,
    ranOut: () => [],
    newestSeq: () => 9,
    lookAtFresh: () => false,
    isSuspectRunning: () => false,
    hasLease: ({ entity }: Candidate) => entity === 'leased',
    candidates: (_: ClaimRequest, suspects: boolean, limit: number) =>
      due.filter(({ seq, crashes }) => !gone.has(seq) && (suspects || crashes === 0)).slice(0, limit),
    park: (seq: number) => void gone.add(seq),
    claim: (seqs: readonly number[]) => {
      for (const seq of seqs) gone.add(seq);
      return seqs.map((seq) => ({ lease: { seq, fence: 1 } }));
    },
    ...replies,
  });
}

const seqs = (step: unknown) => (step as { lease: { seq: number } }[]).map(({ lease }) => lease.seq);
const run = ({ engine }: ReturnType<typeof engineOf>, limit = 10, request = REQUEST) =>
  atOnce(claim(engine, request, limit, { freshUpTo: null }));

describe('a claim', () => {
  it('takes what is due as far as it was asked', () => {
    expect(seqs(run(engineOf([1, 2, 3].map((seq) => candidate(seq))), 2))).toEqual([1, 2]);
  });

  it('gives back first what an earlier one has claimed for nobody, and frees what ran out after that', () => {
    const { engine, asked, of } = engineOf([candidate(1)], { claimedUnder: () => [] });
    const request = { ...REQUEST, number: 5, unheard: [5, 6] };
    expect(seqs(atOnce(claim(engine, request, 1, { freshUpTo: null })))).toEqual([1]);
    atOnce(claimOne(engine, { endpoint: 'default', id: 'evt_1' }, request));
    const once = [5, 6].map((number) => ['claimedUnder', number]);
    expect(of('claimedUnder')).toEqual([...once, ...once]);
    const names = asked.map(([name]) => name);
    expect(names.indexOf('claimedUnder')).toBeLessThan(names.indexOf('ranOut'));
    expect(of('claim')[0]).toEqual(['claim', [1], 10_000, 11_000, 5]);
  });

  it('sets aside what has to wait, unless order does not matter', () => {
    const due = [candidate(1, { entity: 'leased' }), candidate(2)];
    const ordered = engineOf(due);
    expect([seqs(run(ordered)), ordered.of('park')]).toEqual([[2], [['park', 1]]]);
    expect(seqs(run(engineOf(due), 10, { ...REQUEST, ordered: false }))).toEqual([1, 2]);
  });

  it('takes one of an entity, whatever else of it was found with it, and what is free at once', () => {
    const due = [1, 2, 3].map((seq) => candidate(seq, { entity: seq === 3 ? 'another' : 'order' }));
    const ordered = engineOf(due, { front: () => undefined, isSuperseded: () => false });
    expect([seqs(run(ordered)), ordered.of('park')]).toEqual([[1, 3], [['park', 2]]]);
    expect(ordered.of('claim')).toHaveLength(1);
    const elsewhere = ['one', 'another'].map((endpoint, at) => candidate(at + 1, { endpoint, entity: 'order' }));
    expect(seqs(run(engineOf(elsewhere, { front: () => undefined, isSuperseded: () => false })))).toEqual([1, 2]);
  });

  it('takes what it has found free before the time was over', () => {
    const due = [candidate(1), candidate(2, { entity: 'leased' }), candidate(3)];
    expect(seqs(run(engineOf(due, { timeSlice: sliceOf(1) })))).toEqual([1]);
  });

  it('takes one suspect at a time, and none while one runs', () => {
    const due = [candidate(1, { crashes: 1 }), candidate(2, { crashes: 2 }), candidate(3)];
    expect(seqs(run(engineOf(due)))).toEqual([1, 3]);
    expect(seqs(run(engineOf(due, { isSuspectRunning: () => true })))).toEqual([3]);
  });

  it.each<[string, Parameters<typeof scripted>[0]]>([
    ['the clock was set back and not everything is moved yet', { followClock: () => true }],
    ['more has arrived than was looked at', { lookAtFresh: () => true }],
    ['only such were found that wait, and the time is over', { timeSlice: sliceOf(1) }],
  ])('has to be called again when %s', (_, replies) => {
    expect(run(engineOf([candidate(1, { entity: 'leased' }), candidate(2)], replies))).toBe('more');
  });

  it('looks at what had arrived when it began, and at no more', () => {
    const progress = { freshUpTo: null };
    const { engine, of } = engineOf([]);
    for (let call = 0; call < 2; call += 1) atOnce(claim(engine, REQUEST, 1, progress));
    expect(of('newestSeq')).toHaveLength(1);
    const upTo = { now: 10_000, upTo: 9 };
    expect(of('lookAtFresh').map(([, asked]) => asked)).toEqual([upTo, upTo]);
  });

  it('tells whether a newer one of the entity was processed', () => {
    const due = [candidate(1), candidate(2, { entity: 'order' })];
    expect(run(engineOf(due, { isSuperseded: () => true }))).toMatchObject([
      { superseded: false },
      { superseded: true },
    ]);
  });
});

describe('one event', () => {
  const event: EventToRun = {
    ...candidate(1, { entity: 'order', crashes: 2 }),
    type: 'order.created',
    state: 'pending',
    isInvalid: false,
    isPruned: false,
  };

  it.each<[string, EventToRun | undefined, Scope, ReturnType<typeof answerOne>]>([
    ['that nobody knows', undefined, EVERYTHING, 'settled'],
    ['that waits, whatever its history', event, EVERYTHING, 'run'],
    ['that is dead', { ...event, state: 'dead' }, EVERYTHING, 'run'],
    ['that was ignored', { ...event, state: 'ignored' }, EVERYTHING, 'run'],
    ['that was discarded', { ...event, state: 'discarded' }, EVERYTHING, 'settled'],
    ['that is invalid', { ...event, state: 'dead', isInvalid: true }, EVERYTHING, 'settled'],
    ['of which a tombstone is left', { ...event, state: 'dead', isPruned: true }, EVERYTHING, 'settled'],
    ['that was processed', { ...event, state: 'processed' }, EVERYTHING, 'settled'],
    ['that runs', { ...event, state: 'processing' }, EVERYTHING, 'busy'],
    ['of another type', event, { endpoints: '*', types: ['order.ready'] }, 'settled'],
    ['of another endpoint', event, { endpoints: ['shop-b'], types: '*' }, 'settled'],
    ['of a type and endpoint that are named', event, { endpoints: ['default'], types: ['order.created'] }, 'run'],
  ])('%s', (_, one, scope, expected) => {
    expect(answerOne(one, scope)).toBe(expected);
  });

  it('is busy while another one of its entity runs, unless order does not matter', () => {
    const key = { endpoint: 'default', id: 'evt_1' };
    const leased = { ...event, entity: 'leased' };
    const one = (request: ClaimRequest) => {
      const { engine } = engineOf([], { eventToRun: () => leased });
      return atOnce(claimOne(engine, key, request));
    };
    expect(one(REQUEST)).toBe('busy');
    expect(one({ ...REQUEST, ordered: false })).toMatchObject({ lease: { seq: 1 } });
  });
});
