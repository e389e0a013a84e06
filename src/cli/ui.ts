import { createAdaptorServer } from '@hono/node-server';
import type { Server } from 'node:http';
import { opsPage, type OpsPageOptions } from '../page/operators-page.tsx';
import { userAtHost } from './events/options.ts';
import { existingInbox } from './shared/inbox.ts';
import { stopSignal } from './shared/interruption.ts';
import { isLoopbackHost, listen, stopListening } from './shared/listen.ts';
import { namedInbox, shownInbox, type DbOptions } from './shared/options.ts';
import { EXIT, tell, usageError, type ExitCode } from './shared/output.ts';
import { givenSecret, secretFromFile, type SecretOptions } from './shared/secret.ts';

interface UiOptions extends DbOptions, CredentialOptions, SecretOptions {
  readonly port: number;
  readonly mask?: readonly string[];
}

export async function ui(options: UiOptions): Promise<ExitCode> {
  const { port, host, mask = [] } = options;
  const { page, note } = accessOf(options);
  await using inbox = await existingInbox(options);
  const secret = givenSecret(options);
  const replay = secret === null ? {} : { replay: { secret } };
  const app = opsPage({ inbox }, { ...page, ...replay, mask, ...namedInbox(options) });
  const server = createAdaptorServer({ fetch: app.fetch }) as Server; // HTTP/1
  const stopped = stopSignal();
  try {
    const address = await listen(server, { port, portOption: '--port', host });
    tell(`hookbox shows ${shownInbox(options)} at http://${address}/`);
    tell(note);
    return (await stopped) === 'SIGTERM' ? EXIT.ok : EXIT.interrupted;
  } finally {
    await stopListening(server);
  }
}

interface CredentialOptions {
  readonly host: string;
  readonly passwordFile?: string;
  readonly readOnly?: boolean;
}

interface Access {
  readonly page: Pick<OpsPageOptions, 'basic' | 'bearer' | 'unsafeOpen'>;
  readonly note: string;
}

const USUAL_USER = 'operator';

/**
 * Without credentials, the page answers only this machine. A token is for programs, which only read.
 *
 * @throws CommandError for an address that other machines can reach, without credentials
 */
export function accessOf({ host, passwordFile, readOnly = false }: CredentialOptions): Access {
  const [role, aRole] = readOnly ? (['viewer', 'a viewer'] as const) : (['operator', 'an operator'] as const);
  const password =
    passwordFile === undefined ? variable('HOOKBOX_UI_PASSWORD') : secretFromFile(passwordFile, 'password');
  const token = variable('HOOKBOX_UI_TOKEN');
  const user = variable('HOOKBOX_UI_USER');
  if (user !== undefined && password === undefined) {
    throw usageError(
      'HOOKBOX_UI_USER is set, but the password is missing. Set HOOKBOX_UI_PASSWORD, or pass --password-file.',
    );
  }
  if (password === undefined && token === undefined) {
    if (isLoopbackHost(host)) {
      const note = `The page has no login: every user of this machine is ${aRole}.`;
      return { page: { unsafeOpen: { name: userAtHost(), role } }, note };
    }
    throw usageError(
      `Other machines can reach ${host}, so the page needs a login: set HOOKBOX_UI_PASSWORD (and HOOKBOX_UI_USER), pass --password-file, or set HOOKBOX_UI_TOKEN.`,
    );
  }
  const whose = [
    ...(password === undefined ? [] : [`the user ${user ?? USUAL_USER}, as ${aRole}`]),
    ...(token === undefined ? [] : ['clients that send the token, as viewers']),
  ];
  const plain = isLoopbackHost(host)
    ? ''
    : ' Passwords and bodies cross the network unencrypted: put TLS in front of the page.';
  return {
    page: {
      ...(password !== undefined && { basic: [{ user: user ?? USUAL_USER, password, role }] }),
      ...(token !== undefined && { bearer: [{ token, role: 'viewer' }] }),
    },
    note: `The page is open to ${whose.join(', and to ')}.${plain}`,
  };
}

function variable(name: string): string | undefined {
  return process.env[name] || undefined;
}
