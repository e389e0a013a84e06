import { sqliteInbox } from 'hookbox/sqlite';

sqliteInbox(process.argv[2]);
