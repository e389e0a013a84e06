import type { ErasableEvent } from '../../../rules/erase-events.ts';
import type { NamesInBody, Term } from '../../../rules/search-words.ts';
import type { Session } from '../../driver/session.ts';

/** What erasing asks of whatever knows which events are about an entity; in the transaction of a session. */
export interface EntityIndex {
  /** Events that are known under a term, behind one of them and in their order. */
  withTerm(session: Session, term: Term, behind: number, limit: number): Promise<readonly number[]>;
  /** From the index as far as that goes, and from the event itself after that. */
  hasTerm(session: Session, event: ErasableEvent, term: Term): Promise<boolean>;
  /**
   * Takes an event out, under whatever it is known by what it says of itself and under these terms; asked before it changes.
   * Nobody enters it again until the end of the transaction.
   */
  forget(session: Session, event: ErasableEvent, terms: readonly Term[]): Promise<void>;
  /** What a body names. */
  namesIn(body: Uint8Array | null): NamesInBody;
}
