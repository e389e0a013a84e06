import { boundToHere } from '../host/own-context.ts';
import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import { ConfigurationError } from '../errors.ts';
import { unrefTimer } from '../host/unref-timer.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Scope } from '../inbox/work.ts';
import { SEEN_EVERY_MS } from '../inbox/rules/marks.ts';

const LONGEST = 100;
const AGAIN_MS = 30_000;
const LAST_NOTE_MS = 1_000;

export function assertRelease(release: string | undefined): void {
  if (release === undefined) return;
  if (typeof release === 'string' && release.trim() !== '' && release.length <= LONGEST && release.isWellFormed())
    return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `release must be a string of 1 to ${LONGEST} characters, such as a version or a commit hash. Omit the option if you have no version.`,
  );
}

/**
 * Records the release when it begins, every few minutes, and when it ends. No delivery and no handler waits for that.
 */
export function releaseNote(
  { operations }: Pick<Inbox, 'operations'>,
  { release, endpoints, now }: { release: string | undefined; endpoints: Scope['endpoints']; now: () => number },
) {
  if (operations === undefined || release === undefined) return { begin() {}, end: async () => {} };
  const [only = '*', another] = endpoints === '*' ? [] : endpoints;
  const facts = { name: release, endpoint: another === undefined ? only : '*' };
  let timer: NodeJS.Timeout | undefined;
  let state: 'new' | 'begun' | 'ended' = 'new';
  let hasBegun = false;
  let writing: Promise<void> = Promise.resolve();

  async function note(): Promise<void> {
    let next = SEEN_EVERY_MS;
    try {
      await operations?.noteRelease({ ...facts, at: now(), what: hasBegun ? 'goes on' : 'began' });
      hasBegun = true;
    } catch {
      next = AGAIN_MS; // an inbox that cannot write this has already reported worse faults
    }
    if (state !== 'begun') return;
    timer = unrefTimer(
      setTimeout(() => {
        writing = note();
      }, next),
    );
  }

  return {
    // Each delivery calls it.
    begin: boundToHere(() => {
      if (state !== 'new') return;
      state = 'begun';
      writing = note();
    }),
    /** Resolves even if the end could not be recorded. */
    async end(): Promise<void> {
      if (state !== 'begun') return;
      state = 'ended';
      clearTimeout(timer);
      const limit = new Promise<void>((resolve) => unrefTimer(setTimeout(resolve, LAST_NOTE_MS)));
      const last = writing.then(() =>
        hasBegun ? operations.noteRelease({ ...facts, at: now(), what: 'ends' }) : undefined,
      );
      await Promise.race([last.catch(() => {}), limit]);
    },
  };
}
