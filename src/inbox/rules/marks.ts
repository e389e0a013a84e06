/** A time since which events may have been handled differently. */
export interface Mark {
  /** a release of the application's code was first seen, or came back; or a delivery was signed with a new secret */
  readonly kind: 'release' | 'secret';
  /** what the release is called; the endpoint of the secret */
  readonly name: string;
  /** the one that has it; `*` for several */
  readonly endpoint: string;
  readonly at: Date;
}

/** A release that a process reports; milliseconds since 1970. */
export interface ReleaseSeen {
  readonly name: string;
  /** the one that the process serves; `*` for several */
  readonly endpoint: string;
  readonly at: number;
  readonly what: 'began' | 'goes on' | 'ends';
}

/** A secret that matched for the first time; milliseconds since 1970. Nothing of the secret itself is known. */
export interface SecretChanged {
  readonly endpoint: string;
  /** when the one before was last seen to match */
  readonly after: number;
  readonly at: number;
}

const MINUTE_MS = 60_000;
/** A process reports its release so often. */
export const SEEN_EVERY_MS = 5 * MINUTE_MS;
/** A release that no process has reported for so long has ended. */
const GONE_MS = 2 * SEEN_EVERY_MS + 2 * MINUTE_MS;
export const MARKS_KEPT = 500;
export const MARKS_SHOWN = 50;
/** By so much the clocks of two processes may differ. */
const SLACK_MS = MINUTE_MS;

export interface KeptMark {
  readonly seq: number;
  readonly name: string;
  readonly at: number;
  /** when a process reported it last */
  readonly seenAt: number;
  /** when one of its processes ended, if none has reported it since */
  readonly endedAt: number | null;
}

export type MarkChange =
  | { readonly kind: 'added'; readonly mark: Pick<Mark, 'kind' | 'name' | 'endpoint'>; readonly at: number }
  | { readonly kind: 'seen'; readonly seq: number; readonly seenAt: number; readonly endedAt: number | null };

/**
 * A release begins when a process starts with it while another one is the newest, unless its own processes still run: then
 * both run side by side, as in a rolling deployment. So a rollback begins the old release again, and a restart begins nothing.
 * If the old processes were killed and the rollback came soon, it begins when no process has reported the new one for a while.
 * Shops that share an inbox have releases of their own, by endpoint.
 *
 * @param own - the newest release of this name at the endpoint
 * @param newest - the newest release of any name there; one of several endpoints is of each of them
 */
export function planRelease(
  own: KeptMark | undefined,
  newest: KeptMark | undefined,
  { name, endpoint, at, what }: ReleaseSeen,
): MarkChange | null {
  const seen = (mark: KeptMark, endedAt: number | null): MarkChange => {
    return { kind: 'seen', seq: mark.seq, seenAt: Math.max(mark.seenAt, at), endedAt };
  };
  if (what === 'ends') return own === undefined ? null : seen(own, at);
  const isAnother = newest !== undefined && newest.seq !== own?.seq;
  const goesOn = own !== undefined && (!isAnother || (what === 'began' ? isThere(own, at) : wasSeen(newest, at)));
  return goesOn ? seen(own, null) : { kind: 'added', mark: { kind: 'release', name, endpoint }, at };
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

/** Another release began there meanwhile: one that comes back is not of the deployment before. */
function isAfterAll({ kind, name, endpoint }: Mark, mark: Mark): boolean {
  return kind === 'release' && (name === mark.name || endpoint === '*' || endpoint === mark.endpoint);
}

/** If one of its processes has ended, others would have reported it by now. */
function wasSeen({ seenAt }: KeptMark, at: number): boolean {
  return seenAt > at - GONE_MS;
}

/** Each process sees a change of a secret for itself: a mark of it in this span, both ends included, is the same change. */
export function spanOfSecret({ after, at }: SecretChanged): { readonly since: number; readonly until: number } {
  return { since: after - SLACK_MS, until: at + SLACK_MS };
}

export function planSecret(isKnown: boolean, { endpoint, at }: SecretChanged): MarkChange | null {
  return isKnown ? null : { kind: 'added', mark: { kind: 'secret', name: endpoint, endpoint }, at };
}
