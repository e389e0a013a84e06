import { LOST } from '../../../src/inbox/postgres/sql/records.ts';
import {
  besideItsEntity,
  brokenProvider,
  burst,
  burstOfAll,
  deploy,
  fullDisk,
  fullDiskForMany,
  heldBack,
  hung,
  killedWhileClosing,
  lateNumbers,
  leftBehind,
  nothingStarted,
  ofAnother,
  outage,
  pausedType,
  rated,
  setBack,
  sleep,
  steppedOver,
  steppedTwice,
  takenOver,
  thrownNull,
  vanishedRow,
  type DirectedHistory,
} from './directed-histories.ts';
import * as faults from './faults.ts';
import type { StoreFault } from './stores.ts';
import type { PromiseName } from './violation.ts';
import type { Mutation } from './world.ts';

/** A fault that the histories must find. */
export interface Mutant extends StoreFault {
  readonly name: string;
  /** the promises of which a history must find one broken */
  readonly breaks: readonly PromiseName[];
  /** the history that finds it, if chance takes too long */
  readonly history?: DirectedHistory;
  /** the same for stores whose histories are slow */
  readonly dearHistory?: DirectedHistory;
  readonly only?: 'postgres' | 'sqlite';
  /** the faulty part, if not the inbox */
  readonly of?: 'processor';
  begin(): Mutation;
}

export const mutants: readonly Mutant[] = [
  {
    name: 'no fence',
    breaks: ['only the holder of a lease settles'],
    dearHistory: takenOver,
    begin: faults.noFence,
  },
  {
    name: 'a step is kept without the lease',
    breaks: ['only the holder of a lease settles'],
    history: steppedOver,
    begin: faults.noFenceForSteps,
  },
  {
    name: 'a later attempt does not ask for steps',
    breaks: ['a kept step is not run again'],
    history: steppedTwice,
    begin: faults.stepsNotRead,
  },
  {
    name: 'no entity lock',
    breaks: ['one live lease an entity', 'order within an entity'],
    begin: faults.noEntityLock,
  },
  {
    name: 'stored as running beside its entity',
    breaks: ['one live lease an entity', 'order within an entity'],
    history: besideItsEntity,
    begin: faults.startsBesideItsEntity,
  },
  { name: 'a hash taken for an id', breaks: ['stored once', 'stored ⊇ acknowledged'], begin: faults.hashTakenForId },
  {
    name: 'an entity is not held until its handler ends',
    // A lease without a holder is not renewed, and another event of its entity, or a suspect, may run.
    breaks: [
      'one live lease an entity',
      'a lease that is renewed holds',
      'only the holder of a lease settles',
      'suspects run one at a time',
    ],
    begin: faults.freeOnceCommitted,
  },
  {
    name: 'a stop with less grace than a handler takes is a crash',
    breaks: ['a stop is no crash'],
    history: killedWhileClosing,
    of: 'processor',
    begin: faults.closesUnsaid,
  },
  {
    name: 'it is forgotten that a processor closes',
    breaks: ['the store agrees with the model', 'nothing stuck'],
    history: killedWhileClosing,
    begin: faults.closesUnsaid,
  },
  { name: 'no deduplication', breaks: ['stored once'], begin: faults.noDeduplication },
  { name: 'answer before commit', breaks: ['stored ⊇ acknowledged'], begin: faults.answerBeforeCommit },
  {
    name: 'no renewal',
    breaks: [
      'a lease that is renewed holds',
      'one live lease an entity',
      'suspects run one at a time',
      'only the holder of a lease settles',
    ],
    begin: faults.noRenewal,
  },
  { name: 'claims of any endpoint', breaks: ['only its own endpoint'], begin: faults.claimsOfAnyEndpoint },
  {
    name: 'pruning of any endpoint',
    breaks: ['only its own endpoint'],
    dearHistory: ofAnother,
    begin: faults.pruningOfAnyEndpoint,
  },
  {
    name: 'ignored after ten minutes without a worker',
    breaks: ['dead only for a reason'],
    history: outage,
    begin: faults.forgetful,
  },
  {
    name: 'ignored by who handles nothing',
    breaks: ['dead only for a reason'],
    history: nothingStarted,
    begin: faults.ignoredByNobody,
  },
  {
    name: 'ignored at first sight',
    breaks: ['dead only for a reason'],
    history: sleep,
    begin: faults.ignoredAtFirstSight,
  },
  { name: 'gone by the clock', breaks: ['order within an entity'], history: heldBack, begin: faults.goneByTheClock },
  {
    name: 'parked for ever behind who is gone',
    breaks: ['nothing stuck'],
    history: leftBehind,
    undone: {
      sqlite: `OLD.parked = 1 AND NEW.parked = 0 AND NEW.state = 'pending' AND EXISTS (
        SELECT 1 FROM hookbox_events WHERE state = 'pending' AND entity = OLD.entity AND endpoint = OLD.endpoint
          AND (created_ms, created_ns, seq) < (OLD.created_ms, OLD.created_ns, OLD.seq)
      )`,
      postgres: `OLD.parked AND NOT NEW.parked AND NEW.lease_until_ms IS NULL AND EXISTS (
        SELECT 1 FROM queue WHERE lease_until_ms IS NULL AND entity = OLD.entity AND endpoint = OLD.endpoint
          AND (created_ms, created_ns, seq) < (OLD.created_ms, OLD.created_ns, OLD.seq)
      )`,
    },
    begin: faults.unchanged,
  },
  {
    name: 'frozen by a clock that was set back',
    breaks: ['nothing stuck'],
    history: setBack,
    begin: faults.frozenByTheClock,
  },
  {
    name: 'leases stay where the clock was',
    breaks: ['nothing stuck'],
    history: setBack,
    undone: {
      sqlite: "OLD.state = 'processing' AND NEW.state = 'processing' AND NEW.lease_until_ms < OLD.lease_until_ms",
      postgres: 'NEW.lease_until_ms < OLD.lease_until_ms',
    },
    begin: faults.unchanged,
  },
  {
    name: 'due times stay where the clock was',
    breaks: ['nothing stuck'],
    history: setBack,
    undone: {
      sqlite: "OLD.state = 'pending' AND NEW.state = 'pending' AND NEW.due_ms < OLD.due_ms",
      postgres: 'OLD.lease_until_ms IS NULL AND NEW.lease_until_ms IS NULL AND NEW.due_ms < OLD.due_ms',
    },
    begin: faults.unchanged,
  },
  {
    name: 'a pause holds after its end',
    breaks: ['nothing stuck'],
    history: pausedType,
    begin: faults.pausesForLonger,
  },
  {
    name: 'a pause is not written with its settlement',
    breaks: ['a paused type waits'],
    history: pausedType,
    begin: faults.pausesNothing,
  },
  {
    name: 'an attempt that pauses its type counts',
    breaks: ['the store agrees with the model'],
    history: pausedType,
    begin: faults.countsPauses,
  },
  { name: 'a breaker never opens', breaks: ['a paused type waits'], history: brokenProvider, begin: faults.neverOpens },
  { name: 'a breaker never closes', breaks: ['nothing stuck'], history: brokenProvider, begin: faults.neverCloses },
  { name: 'a breaker probes too late', breaks: ['nothing stuck'], history: brokenProvider, begin: faults.probesLater },
  { name: 'a rate is not kept', breaks: ['a type keeps its rate'], history: rated, begin: faults.noRate },
  {
    name: 'each process keeps a rate alone',
    breaks: ['a type keeps its rate'],
    history: rated,
    begin: faults.ratesAlone,
  },
  {
    name: 'stored as running above a rate',
    breaks: ['a type keeps its rate'],
    history: rated,
    of: 'processor',
    begin: faults.startsAnyType,
  },
  {
    name: 'a rate holds for longer than its span',
    breaks: ['nothing stuck'],
    history: rated,
    begin: faults.rateForLonger,
  },
  {
    name: 'each event of a burst runs',
    breaks: ['only the newest of a burst runs'],
    history: burst,
    begin: faults.noLatest,
  },
  {
    name: 'events of other types are superseded too',
    breaks: ['superseded only by a newer one'],
    history: burstOfAll,
    begin: faults.latestOfAll,
  },
  {
    name: 'a rerun event is superseded',
    breaks: ['superseded only by a newer one'],
    history: burst,
    rewritten: (text) => text.replaceAll("AND trigger = 'auto' AND seq <> due.seq", 'AND seq <> due.seq'),
    begin: faults.unchanged,
  },
  {
    name: 'the oldest supersedes the others',
    breaks: ['superseded only by a newer one'],
    history: burst,
    rewritten: (text) =>
      text.includes('"isNext"')
        ? text.replace(/CROSS JOIN LATERAL \(SELECT \* FROM[^]*$/, (newest) => newest.replaceAll('DESC', 'ASC'))
        : text,
    begin: faults.unchanged,
  },
  {
    name: 'processed when told to stop',
    breaks: ['an attempt ends as its run did'],
    history: deploy,
    of: 'processor',
    begin: faults.processedWhenTold,
  },
  {
    name: 'nobody looks at a transaction',
    breaks: ['an attempt ends as its run did'],
    of: 'processor',
    begin: faults.nobodyLooks,
  },
  {
    name: 'failed transactions do not count',
    breaks: ['an attempt ends as its run did'],
    begin: faults.transactionsDoNotCount,
  },
  {
    name: 'a lent connection is never given back',
    breaks: ['nothing stuck'],
    history: hung,
    only: 'postgres',
    begin: faults.neverGivenBack,
  },
  {
    name: 'null is for good',
    breaks: ['an attempt ends as its run did'],
    of: 'processor',
    history: thrownNull,
    begin: faults.nullIsForGood,
  },
  {
    name: 'gone while nobody could write',
    breaks: ['a lease that is renewed holds'],
    history: fullDiskForMany,
    begin: faults.goneWhileFull,
  },
  {
    name: 'too late to settle',
    breaks: ['only the holder of a lease settles'],
    history: fullDisk,
    begin: faults.tooLateToSettle,
  },
  {
    name: 'processed because no row says otherwise',
    breaks: ['the store agrees with the model'],
    history: vanishedRow,
    rewritten: (text) => text.replaceAll(LOST, 'false'),
    begin: faults.unchanged,
  },
  {
    name: 'what is indexed goes on behind the highest number',
    breaks: ['what is stored is found'],
    history: lateNumbers,
    rewritten: (text) =>
      text.replace(
        /(FROM stored) (HAVING count)/,
        '$1 WHERE seq > (SELECT coalesce(max(seq), 0) FROM SCHEMA.events) $2',
      ),
    begin: faults.unchanged,
  },
  {
    name: 'what is claimed goes on behind the highest number',
    breaks: ['nothing stuck'],
    history: lateNumbers,
    rewritten: (text) =>
      text.replaceAll(
        '(queue.crashes = 0 OR',
        '(SELECT coalesce(max(seq), 0) FROM SCHEMA.attempts) <= queue.seq AND (queue.crashes = 0 OR',
      ),
    begin: faults.unchanged,
  },
];
