import type { Exchange } from '../exchange.ts';
import { duplicateIn } from '../hookbox-answer.ts';
import { fault, notRefused, notTaken, outcome, toldToWait, warning, type Advice } from '../judge-answers.ts';
import { tellsToWait } from '../told-to-wait.ts';
import { isTaken, type CheckRun } from '../check-run.ts';
import type { Probe } from './probe.ts';

/** JSON that breaks off in the middle. */
function brokenOff(run: CheckRun): { readonly id: string; readonly body: Uint8Array } {
  const { id, body } = run.event();
  return { id, body: body.subarray(0, -20) };
}

const TAKES_NONSENSE: Advice = {
  why: 'The 2xx confirms an event that you cannot read. (This is only a warning, because a sender needs the secret to send such a body.)',
  mend: 'Return 400 for a body that is not a JSON object with an id, unless you store the raw bytes of such a body.',
};
const THROWS_ON_NONSENSE: Advice = {
  why: 'The service treats this response as an outage and keeps sending the same bytes for a day. (This is only a warning, because a sender needs the secret to send such a body.)',
  mend: 'Verify the signature, then call JSON.parse in a try block, and return 400 if it throws.',
};

/** It is authentic, so the sender has to be told that it cannot be used. */
export const malformedJson: Probe = async (run) => {
  const { id, body } = brokenOff(run);
  const sent = `incomplete JSON, id ${id}, correctly signed`;
  const answer = await run.send(body);
  if (answer.status === null) return outcome([notTaken(sent, answer)]);
  if (tellsToWait(answer)) return outcome([toldToWait(sent, answer)]);
  if (answer.status >= 500) return outcome([warning(sent, answer, THROWS_ON_NONSENSE)]);
  if (answer.status < 400) return outcome([warning(sent, answer, TAKES_NONSENSE)]);
  return outcome([], `returned ${answer.status}`);
};

const PARSES_FIRST: Advice = {
  why:
    'The endpoint parsed the body before it verified the signature. Unverified bytes reach the ' +
    'parser and the code behind it, and the verified bytes may differ from the bytes that were sent.',
  mend:
    "Verify the raw bytes first, then call JSON.parse. In Express, give the route express.raw({ type: '*/*' }), not express.json(). " +
    'If no later code uses the parsed body, as with hookbox, it is enough to keep the raw bytes in the verify function of express.json().',
};
/** docs/adapters.md says the same. */
const PARSER_BEFORE_HOOKBOX: Advice = {
  why:
    'A parser that runs before hookbox rejects the body, so the response differs from the response to a forgery. No event is ' +
    'harmed: hookbox verifies, stores and handles the raw bytes, not the result of the parser.',
  mend: 'If the parser must run first, change nothing. Otherwise, mount the route before the parser, as in docs/adapters.md.',
};
const TAKES_FORGERIES: Advice = {
  why: 'The endpoint accepted a body that is neither authentic nor JSON.',
  mend: 'Verify the signature over the raw bytes, and return 401 if it does not match.',
};

/** Only an endpoint that parses before it verifies can tell it from another forgery. */
export const forgedMalformedJson: Probe = async (run) => {
  const { id, body } = brokenOff(run);
  const signature = run.sign(run.event().body);
  const sent = `incomplete JSON, id ${id}, with a wrong signature`;
  const answer = await run.send(body, { signature });
  if (isTaken(answer) || answer.status === null || answer.status === 401) {
    return outcome([notRefused(sent, answer, run.sign(body), TAKES_FORGERIES)]);
  }
  if (tellsToWait(answer)) return outcome([toldToWait(sent, answer)]);
  // Some say 400 to whatever is forged: a wrong status, but no sign of parsing.
  const control = await run.send(run.event().body, { signature });
  if (tellsToWait(control))
    return outcome([toldToWait(`${sent}, and then valid JSON with the same wrong signature`, control)]);
  if (isSameRefusal(answer, control)) return outcome([notRefused(sent, answer, run.sign(body), PARSES_FIRST)]);
  const isHarmless = answer.status < 500 && control.status === 401 && (await isHookbox(run));
  return outcome([isHarmless ? warning(sent, answer, PARSER_BEFORE_HOOKBOX) : fault(sent, answer, PARSES_FIRST)]);
};

/** Of hookbox it is known that what it verifies is what it takes. */
async function isHookbox(run: CheckRun): Promise<boolean> {
  const { id, body } = run.event();
  return duplicateIn(await run.send(body), id) !== null;
}

function isSameRefusal(one: Exchange, other: Exchange): boolean {
  return one.status === other.status && !isTaken(other);
}
