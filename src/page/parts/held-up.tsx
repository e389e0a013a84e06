import { heldUp, type HeldUpLanes } from '../../ops/held-up.ts';
import { heldUpInWords } from '../../ops/words/pause-words.ts';
import type { Visit } from '../visit.ts';
import { StoredText } from './stored-text.tsx';

/** Warns an operator, before events become due, that no processor takes them for now. */
export async function heldUpWarning({ operated, now }: Visit, lanes: HeldUpLanes) {
  const words = heldUpInWords(await heldUp(operated.inbox, lanes, now.getTime()));
  return (
    <>
      {words.map((sentence) => (
        <p class="warning held-up">
          <StoredText text={sentence} atMost={600} />
        </p>
      ))}
    </>
  );
}
