import type { OpsPageOptions, Visitor } from '../../page/operators-page.tsx';
import { userAtHost } from '../events/by.ts';
import { usageError } from '../shared/exit.ts';
import { isLoopbackHost } from '../shared/listen.ts';
import { secretFromFile } from '../shared/secret-option.ts';

/** What decides who may see the page. */
export interface CredentialOptions {
  readonly host: string;
  readonly passwordFile?: string;
  readonly readOnly?: boolean;
}

/** Who may see the page, and what is to be said about that. */
export interface Access {
  readonly page: Pick<OpsPageOptions, 'basic' | 'bearer' | 'unsafeOpen'>;
  readonly note: string;
}

const USUAL_USER = 'operator';

/**
 * Credentials come from the environment or a file, never from an argument. Without any, the page is for this machine
 * alone. A token is for programs, which only read.
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
    throw usageError(
      'HOOKBOX_UI_USER is set, but the password is missing. Set HOOKBOX_UI_PASSWORD, or pass --password-file.',
    );
  }
  if (password !== undefined || token !== undefined) {
    const page = {
      ...(password !== undefined && { basic: [{ user: user ?? USUAL_USER, password, role }] }),
      ...(token !== undefined && { bearer: [{ token, role: 'viewer' as const }] }),
    };
    const plain = isLoopbackHost(host)
      ? ''
      : ' Passwords and bodies cross the network unencrypted: put TLS in front of the page.';
    const whose = [
      ...(password === undefined
        ? []
        : [`the user ${user ?? USUAL_USER}, as ${role === 'viewer' ? 'a viewer' : 'an operator'}`]),
      ...(token === undefined ? [] : ['clients that send the token, as viewers']),
    ];
    return { page, note: `The page is open to ${whose.join(', and to ')}.${plain}` };
  }
  if (!isLoopbackHost(host)) {
    throw usageError(
      `Other machines can reach ${host}, so the page needs a login: set HOOKBOX_UI_PASSWORD (and HOOKBOX_UI_USER), pass --password-file, or set HOOKBOX_UI_TOKEN.`,
    );
  }
  const note = `The page has no login: every user of this machine is ${role === 'viewer' ? 'a viewer' : 'an operator'}.`;
  return { page: { unsafeOpen: { name: userAtHost(), role } }, note };
}

function variable(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}
