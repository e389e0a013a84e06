/** A time since which events may have been handled differently. */
export interface Mark {
  /** a release of your code began, or came back; or a new secret matched */
  readonly kind: 'release' | 'secret';
  /** the name of the release; the endpoint of the secret */
  readonly name: string;
  /** `*` for several endpoints */
  readonly endpoint: string;
  readonly at: Date;
}

/** Milliseconds since 1970. */
export interface ReleaseSeen {
  readonly name: string;
  readonly endpoint: string;
  readonly at: number;
  readonly what: 'began' | 'goes on' | 'ends';
}

/** A secret that matched for the first time. Only its time is known, in milliseconds since 1970. */
export interface SecretChanged {
  readonly endpoint: string;
  /** when the earlier secret last matched */
  readonly after: number;
  readonly at: number;
}

const MINUTE_MS = 60_000;
export const SEEN_EVERY_MS = 5 * MINUTE_MS;
const GONE_MS = 2 * SEEN_EVERY_MS + 2 * MINUTE_MS;
export const MARKS_KEPT = 500;
export const MARKS_SHOWN = 50;
const SLACK_MS = MINUTE_MS;

export interface KeptMark {
  readonly seq: number;
  readonly name: string;
  readonly at: number;
  readonly seenAt: number;
  /** when one of its processes ended, if none has reported it since */
  readonly endedAt: number | null;
}

export type MarkChange =
  | { readonly kind: 'added'; readonly mark: Pick<Mark, 'kind' | 'name' | 'endpoint'>; readonly at: number }
  | { readonly kind: 'seen'; readonly seq: number; readonly seenAt: number; readonly endedAt: number | null };

/**
 * A release begins when a process starts with it while another release is the newest, unless its own processes still
 * run, as in a rolling deployment. So a rollback begins the old release again, and a restart begins nothing. If the old
 * processes were killed, the old release begins when no process has reported the new one for a while.
 *
 * @param own - the newest release of this name at the endpoint
 * @param newest - the newest release of any name there
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

/** A release that begins at several endpoints within minutes is one deployment; oldest first. */
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

/** A release that comes back after another one is a new deployment. */
function isAfterAll({ kind, name, endpoint }: Mark, mark: Mark): boolean {
  return kind === 'release' && (name === mark.name || endpoint === '*' || endpoint === mark.endpoint);
}

/** If one process has ended, others would have reported the release by now. */
function wasSeen({ seenAt }: KeptMark, at: number): boolean {
  return seenAt > at - GONE_MS;
}

/** Each process notices a change of a secret itself: another mark in this span is the same change. */
export function spanOfSecret({ after, at }: SecretChanged): { readonly since: number; readonly until: number } {
  return { since: after - SLACK_MS, until: at + SLACK_MS };
}

export function planSecret(isKnown: boolean, { endpoint, at }: SecretChanged): MarkChange | null {
  return isKnown ? null : { kind: 'added', mark: { kind: 'secret', name: endpoint, endpoint }, at };
}
