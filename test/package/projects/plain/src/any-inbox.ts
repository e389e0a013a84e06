/** What a tool of the merchant's does with whichever inbox it is given. */
import { rerun, type AnyInbox } from 'hookbox';
import { memoryInbox } from 'hookbox/memory';
import * as ops from 'hookbox/ops';
import { opsPage } from 'hookbox/ops/page';
import { postgresInbox } from 'hookbox/postgres';
import { sqliteInbox } from 'hookbox/sqlite';

const opened = {
  server: () => postgresInbox('postgres://localhost/shop'),
  file: () => sqliteInbox('shop.db'),
  memory: () => memoryInbox(),
};
type Opened = ReturnType<(typeof opened)[keyof typeof opened]>;

type Refusing<Name extends keyof typeof ops> = Opened extends Parameters<(typeof ops)[Name]>[0] ? never : Name;
/** The functions of hookbox/ops that do not take each of them. */
type AllRefusing = { readonly [Name in keyof typeof ops]: Refusing<Name> }[keyof typeof ops];
export const refusing: [AllRefusing] extends [never] ? 'none' : AllRefusing = 'none';

export async function tidied(inbox: AnyInbox): Promise<void> {
  await ops.pruneEvents(inbox, { settledBefore: new Date(0) }, { actor: 'a tool' });
  await rerun(inbox, { endpoint: 'default', id: 'evt_1' });
}

export async function all(): Promise<void> {
  for (const open of Object.values(opened)) {
    const inbox = open();
    await tidied(inbox);
    await rerun(inbox, { endpoint: 'default', id: 'evt_1' });
    opsPage({ inbox }, { unsafeOpen: true });
  }
}
