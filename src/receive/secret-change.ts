import type { Marks } from '../inbox/operator/marks.ts';
import type { SecretChanged } from '../inbox/rules/marks.ts';
import type { SigningKey } from '../signing/signature.ts';

/** So many secrets are told apart; a rotation has two. */
const MOST_KEYS = 10;
const AGAIN_MS = 30_000;

/**
 * Notes when deliveries begin to be signed with another secret than before. Which one that is only this process knows, and
 * only while it runs: anything of a secret in a file would let its guesses be tested there.
 */
export function secretChange(
  marks: Pick<Marks, 'noteSecret'> | undefined,
  endpoint: string,
  now: () => number,
): { matched(key: SigningKey): void } {
  let current: SigningKey | null = null;
  let known: SigningKey[] = [];
  let matchedAt = 0;
  let unwritten: SecretChanged | null = null;
  let askedAt = -Infinity;

  function write(at: number): void {
    if (unwritten === null || marks === undefined || Math.abs(at - askedAt) < AGAIN_MS) return;
    const writing = unwritten;
    askedAt = at;
    marks.noteSecret(writing).then(
      () => {
        if (unwritten === writing) unwritten = null;
      },
      () => {}, // with the next delivery again
    );
  }

  return {
    matched(key) {
      const at = now();
      if (current === null) known = [key];
      else if (!isSame(key, current)) {
        // A delivery that was signed before the change may come after it.
        if (known.some((one) => isSame(one, key))) return;
        known = [...known, key].slice(-MOST_KEYS);
        unwritten = { endpoint, after: matchedAt, at };
        askedAt = -Infinity;
      }
      current = key;
      matchedAt = at;
      write(at);
    },
  };
}

function isSame(one: SigningKey, other: SigningKey): boolean {
  return one === other || Buffer.compare(one.bytes, other.bytes) === 0;
}
