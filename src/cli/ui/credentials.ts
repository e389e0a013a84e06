import { isIPv4 } from 'node:net';
import type { OpsPageOptions, Visitor } from '../../ops/page/page.tsx';
import { userAtHost } from '../events/by.ts';
import { usageError } from '../exit.ts';
import { secretFromFile } from '../secret.ts';

/** What decides who may see the page. */
export interface CredentialOptions {
  readonly host: string;
  readonly passwordFile?: string;
  readonly readOnly?: boolean;
}

/** Who may see the page, and what is to be said about that. */
export interface Access {
  readonly page: Pick<OpsPageOptions, 'authorize' | 'basic' | 'bearer' | 'hosts' | 'unsafeOpen'>;
  readonly note: string;
}

const USUAL_USER = 'operator';

/**
 * Credentials come from the environment or a file, never from an argument. Without any, the page is for this machine alone.
 * A token is for programs, which only read.
 *
 * @throws CommandError for an address that others reach, without credentials
 */
export function accessOf({ host, passwordFile, readOnly = false }: CredentialOptions): Access {
  const role: Visitor['role'] = readOnly ? 'viewer' : 'operator';
  const password =
    passwordFile === undefined ? variable('HOOKBOX_UI_PASSWORD') : secretFromFile(passwordFile, 'password');
  const token = variable('HOOKBOX_UI_TOKEN');
  const user = variable('HOOKBOX_UI_USER');
  if (user !== undefined && password === undefined) {
    throw usageError('HOOKBOX_UI_USER has no password. Set HOOKBOX_UI_PASSWORD, or give --password-file.');
  }
  if (password !== undefined || token !== undefined) {
    const page = {
      ...(password !== undefined && { basic: [{ user: user ?? USUAL_USER, password, role }] }),
      ...(token !== undefined && { bearer: [{ token, role: 'viewer' as const }] }),
    };
    const plain = isLoopback(host)
      ? ''
      : ' Passwords and payloads cross the network as they are: put TLS in front of it.';
    const whose = [
      ...(password === undefined ? [] : [`the user ${user ?? USUAL_USER}, as ${role}`]),
      ...(token === undefined ? [] : ['whoever sends the token, as viewer']),
    ];
    return { page, note: `It is for ${whose.join(', and for ')}.${plain}` };
  }
  if (!isLoopback(host)) {
    throw usageError(
      `${host} is reached from other machines, so the page needs a log-in: ` +
        'set HOOKBOX_UI_PASSWORD (and HOOKBOX_UI_USER), give --password-file, or set HOOKBOX_UI_TOKEN.',
    );
  }
  const note = `Whoever can use this machine is ${role === 'viewer' ? 'a viewer' : 'an operator'}: there is no log-in.`;
  const name = userAtHost();
  if (!readOnly) return { page: { unsafeOpen: { name } }, note };
  const viewer = { role, name } as const;
  return {
    page: {
      authorize: () => viewer,
      hosts: [...LOOPBACK_NAMES, host === '::1' ? '[::1]' : host],
    },
    note,
  };
}

function variable(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}

/** What a browser may call this machine. */
const LOOPBACK_NAMES = ['localhost', '127.0.0.1'];

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
