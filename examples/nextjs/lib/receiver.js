import { createReceiver } from 'hookbox';
import { sqliteInbox } from 'hookbox/sqlite';

let receiver;

export function theReceiver() {
  receiver ??= createReceiver({
    secret: process.env.SIGNING_SECRET,
    inbox: sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db'),
  });
  return receiver;
}
