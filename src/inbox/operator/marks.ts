/** When something began that events may have gone otherwise since. */
export interface Mark {
  /** a release of the application's code was first seen, or came back; or a delivery was signed with a new secret */
  readonly kind: 'release' | 'secret';
  /** what the release is called; the endpoint of the secret */
  readonly name: string;
  /** the one that has it; `*` for several */
  readonly endpoint: string;
  readonly at: Date;
}

/** A release as one of its processes says that it is there; milliseconds since 1970. */
export interface ReleaseSeen {
  readonly name: string;
  /** the one that the process serves; `*` for several */
  readonly endpoint: string;
  readonly at: number;
  /** the process has just started; else it goes on, or ends */
  readonly what: 'began' | 'goes on' | 'ends';
}

/** A secret that matched for the first time; milliseconds since 1970. Nothing of the secret itself is known. */
export interface SecretChanged {
  readonly endpoint: string;
  /** when the one before was last seen to match */
  readonly after: number;
  readonly at: number;
}

export interface Marks {
  noteRelease(seen: ReleaseSeen): Promise<void>;
  noteSecret(changed: SecretChanged): Promise<void>;
  /** Returns the newest 50 marks between `since` and `until` (milliseconds since 1970), oldest first. */
  marks(since: number, until: number): Promise<readonly Mark[]>;
}
