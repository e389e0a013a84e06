import { ConfigurationError, messageOf } from '../../../errors.ts';
import { peerOf, createGuard } from '../../../page/safety/request-guard.ts';
import type { Sandbox } from '../../../sandbox/index.ts';
import { ApiError } from '../../../sandbox/errors.ts';
import { CommandError, EXIT } from '../../shared/exit.ts';
import { actSchema, perform } from './acts.ts';
import { seal, unseal } from './sealed.ts';

/** Answers requests to `CONTROL_PATH`. */
export type Control = (request: Request, env: unknown) => Promise<Response>;

const MOST_BYTES = 100_000;
/** A sealed text begins with random bytes: so many characters tell it from every other one. */
const MARK_CHARS = 16;

/**
 * Steers a sandbox for the holder of its token, from this machine only: not under another name, not through a proxy,
 * and not for a page of another site. Requests and answers are sealed with the token, so the token itself is never
 * sent. A request works once, so a recorded request cannot be repeated.
 */
export function controlPath(sandbox: Sandbox, token: string): Control {
  const guard = createGuard({}, true);
  const seen = new Set<string>();
  return async (request, env) => {
    if (guard(request, peerOf(env, request)) !== null)
      return refusal(403, 'A sandbox can be controlled only from the machine it runs on.');
    if (request.method !== 'POST') return refusal(405, 'Send control requests with POST.');
    const length = request.headers.get('content-length');
    if (length === null || Number(length) > MOST_BYTES) return refusal(413, `Send at most ${MOST_BYTES} bytes.`);
    const sealed = await request.text();
    const text = unseal(token, sealed);
    const mark = sealed.slice(0, MARK_CHARS);
    if (text === null || seen.has(mark)) return refusal(401, 'Only the user who started this sandbox can control it.');
    seen.add(mark);
    const answer = await answerTo(sandbox, text);
    return new Response(seal(token, JSON.stringify(answer), sealed), { status: answer.status });
  };
}

/** What a sandbox answers to an action. The status stands here too, because the seal covers it. */
export interface Answer {
  readonly status: number;
  readonly result?: unknown;
  readonly message?: string;
}

async function answerTo(sandbox: Sandbox, text: string): Promise<Answer> {
  const act = actSchema.safeParse(parsedOrNull(text));
  if (!act.success) {
    return {
      status: 422,
      message: 'The sandbox does not support this command, because it runs a different version of hookbox.',
    };
  }
  try {
    return { status: 200, result: await perform(sandbox, act.data) };
  } catch (failure) {
    return { status: statusOf(failure), message: messageOf(failure) };
  }
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function refusal(status: number, message: string): Response {
  return Response.json({ message }, { status });
}

function statusOf(failure: unknown): number {
  if (failure instanceof ConfigurationError) return 422;
  if (failure instanceof ApiError) return failure.status;
  if (!(failure instanceof CommandError)) return 500;
  if (failure.exitCode === EXIT.usage) return 422;
  return failure.exitCode === EXIT.notFound ? 404 : 409;
}
