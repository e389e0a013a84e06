import type { Mark, ReleaseSeen, SecretChanged } from '../operator/marks.ts';
import type { Steps } from './steps.ts';

const MINUTE_MS = 60_000;
/** A process says so often that its release is there. */
export const SEEN_EVERY_MS = 5 * MINUTE_MS;
/** A release that nobody has spoken of for so long is there no longer. */
const GONE_MS = 2 * SEEN_EVERY_MS + 2 * MINUTE_MS;
/** So many marks are kept. */
export const MARKS_KEPT = 500;
/** So many of a span are shown. */
export const MARKS_SHOWN = 50;
/** By so much the clocks of two processes may differ. */
const SLACK_MS = MINUTE_MS;

/** A mark as it is kept; times in milliseconds since 1970. */
export interface KeptMark {
  readonly seq: number;
  readonly name: string;
  readonly at: number;
  /** when a process has last said so */
  readonly seenAt: number;
  /** when one of its processes has ended, and none has spoken since */
  readonly endedAt: number | null;
}

/** Marks, as the rules ask for them; one transaction at a time. */
export interface MarkEngine {
  /** The newest release of an endpoint, or the newest one of a name; one of several endpoints is of each of them. */
  newestRelease(endpoint: string, name?: string): Steps<KeptMark | undefined>;
  /** Whether a new secret of an endpoint was noted in a span, both ends included. */
  hasSecret(endpoint: string, since: number, until: number): Steps<boolean>;
  /** Adds a mark, and forgets what is beyond those that are kept. */
  addMark(mark: Pick<Mark, 'kind' | 'name' | 'endpoint'>, at: number): Steps<void>;
  seeMark(seq: number, seenAt: number, endedAt: number | null): Steps<void>;
}

/**
 * A release begins when a process starts with it and another one was the newest, unless others of it still run: then old and
 * new ones run side by side, as in a rolling deployment. So a rollback begins the old release again, and a restart begins nothing.
 * Where the old processes were killed and the rollback came soon, it begins when nobody has spoken of the new one for a while.
 * Shops that share an inbox have releases of their own: those of other endpoints are not asked for.
 */
export function* noteRelease(engine: MarkEngine, { name, endpoint, at, what }: ReleaseSeen): Steps<void> {
  const own = yield* engine.newestRelease(endpoint, name);
  if (what === 'ends') {
    if (own !== undefined) yield* engine.seeMark(own.seq, Math.max(own.seenAt, at), at);
    return;
  }
  if (own === undefined) return yield* engine.addMark({ kind: 'release', name, endpoint }, at);
  const newest = yield* engine.newestRelease(endpoint);
  const isAnother = newest !== undefined && newest.seq !== own.seq;
  if (isAnother && !(what === 'began' ? isThere(own, at) : wasSeen(newest, at))) {
    return yield* engine.addMark({ kind: 'release', name, endpoint }, at);
  }
  yield* engine.seeMark(own.seq, Math.max(own.seenAt, at), null);
}

function isThere(mark: KeptMark, at: number): boolean {
  return mark.endedAt === null && wasSeen(mark, at);
}

/** A release that begins at several endpoints within some minutes is one deployment; oldest first. */
export function deployments(marks: readonly Mark[]): readonly Mark[] {
  const begun: Mark[] = [];
  for (const mark of marks) {
    const n = begun.findLastIndex((each) => mark.kind === 'release' && isOfOneDeployment(each, mark));
    const before = begun[n];
    if (before === undefined || begun.slice(n + 1).some((each) => isAfterAll(each, mark))) begun.push(mark);
    else begun[n] = { ...before, endpoint: '*' };
  }
  return begun;
}

function isOfOneDeployment(begun: Mark, { name, endpoint, at }: Mark): boolean {
  const isSoon = at.getTime() <= begun.at.getTime() + GONE_MS;
  return begun.kind === 'release' && begun.name === name && begun.endpoint !== endpoint && isSoon;
}

/** Another one began there meanwhile: the one that comes back is not of the deployment before. */
function isAfterAll({ kind, name, endpoint }: Mark, mark: Mark): boolean {
  return kind === 'release' && (name === mark.name || endpoint === '*' || endpoint === mark.endpoint);
}

/** One of its processes may have ended: others would have said so by now. */
function wasSeen({ seenAt }: KeptMark, at: number): boolean {
  return seenAt > at - GONE_MS;
}

/** Each process sees a change of the secret for itself: what another has noted since its last look is the same one. */
export function* noteSecret(engine: MarkEngine, { endpoint, after, at }: SecretChanged): Steps<void> {
  if (yield* engine.hasSecret(endpoint, after - SLACK_MS, at + SLACK_MS)) return;
  yield* engine.addMark({ kind: 'secret', name: endpoint, endpoint }, at);
}
