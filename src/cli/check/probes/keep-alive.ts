import { agentFor } from '../exchange.ts';
import { fault, notTaken, outcome, type Advice } from '../judge-answers.ts';
import { isTaken } from '../check-run.ts';
import type { Probe } from './probe.ts';

const CUT: Advice = {
  why:
    'The endpoint closed the connection between two deliveries without notice. The second delivery failed, and the ' +
    'service sends its event again.',
  mend:
    'Send the header Connection: close with the last response on a connection. Read every body to its end, even if ' +
    'you reject the delivery.',
};

/** Good ones, and a forged one between them whose body must not be left in the way. */
const SEQUENCE = ['good', 'good', 'forged', 'good', 'good'] as const;

/** Five deliveries on one connection, if the endpoint keeps it. */
export const keepAlive: Probe = async (run) => {
  const agent = agentFor(run.url);
  const findings = [];
  let reused = 0;
  try {
    for (const [n, kind] of SEQUENCE.entries()) {
      const { body, what } = run.event();
      const options = kind === 'forged' ? { agent, signature: run.sign(run.event().body) } : { agent };
      const answer = await run.send(body, options);
      const sent = `${what}, as delivery ${n + 1} on one connection`;
      if (answer.status === null && answer.failure === 'cut') findings.push(fault(sent, answer, CUT));
      else if (kind === 'good' && !isTaken(answer)) findings.push(notTaken(sent, answer));
      if (answer.status !== null && answer.onUsedConnection) reused += 1;
    }
  } finally {
    agent.destroy();
  }
  return outcome(findings, reused === 0 ? 'the endpoint closes the connection after each response' : undefined);
};
