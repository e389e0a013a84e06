import type { Exchange } from '../exchange.ts';
import { notTaken, outcome, toldToWait, warning, type Advice } from '../judge-answers.ts';
import { tellsToWait } from '../told-to-wait.ts';
import type { Finding } from '../check-report.ts';
import { isTaken } from '../check-run.ts';
import type { Probe } from './probe.ts';

const SAYS_YES: Advice = {
  why: 'The service never uses GET. A 2xx for a GET makes monitors and people believe that deliveries work, even when they fail.',
  mend:
    'Mount the route only for POST, and return 405 for other methods. If you serve a page of your own at this ' +
    'address, ' +
    'ignore this warning.',
};
const TAKES_PUT: Advice = {
  why: 'The service uses POST. A request with a different method can bypass checks that guard only POST. (This is only a warning, because the request was correctly signed.)',
  mend: 'Mount the route only for POST: app.post, not app.use or app.all.',
};
const OTHERWISE: Advice = {
  why: 'The endpoint rejects the request, but its status looks like an outage or a moved page.',
  mend: 'Return 405 or 404 for methods other than POST.',
};
/** Not Implemented: also said of methods. */
const NOT_IMPLEMENTED = 501;

/** A GET, as browsers and monitors send it, and a delivery that is PUT. */
export const otherMethods: Probe = async (run) => {
  const got = await run.send(new Uint8Array(), { method: 'GET', signature: null });
  const { id, body } = run.event();
  const put = await run.send(body, { method: 'PUT' });
  const sentPut = `PUT, order.created, id ${id}, correctly signed`;
  return outcome([
    isTaken(got) ? warning('GET', got, SAYS_YES) : otherwise('GET', got),
    isTaken(put) ? warning(sentPut, put, TAKES_PUT) : otherwise(sentPut, put),
  ]);
};

function otherwise(sent: string, answer: Exchange): Finding | null {
  if (answer.status === null) return notTaken(sent, answer);
  if (tellsToWait(answer)) return toldToWait(sent, answer);
  const isRefused = (answer.status >= 400 && answer.status < 500) || answer.status === NOT_IMPLEMENTED;
  return isRefused ? null : warning(sent, answer, OTHERWISE);
}
