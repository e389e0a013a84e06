import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';

/** The URL of the server of this run. */
export async function postgresUrl(): Promise<string> {
  const socket = connect(inject('postgresAt'), '127.0.0.1');
  await once(socket, 'connect');
  const { url, failure } = JSON.parse(await text(socket)) as { readonly url?: string; readonly failure?: string };
  if (url === undefined) throw new Error(failure);
  return url;
}
