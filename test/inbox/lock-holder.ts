// A process that holds the write lock of a database: node lock-holder.ts <file> [milliseconds]
// Without a time it holds the lock until its input ends.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';

const [file = '', milliseconds] = process.argv.slice(2);
const database = new Database(file);
process.stdin.resume();
database.exec('BEGIN IMMEDIATE');
console.log('locked');
await (milliseconds === undefined ? once(process.stdin, 'end') : sleep(Number(milliseconds)));
database.exec('COMMIT');
database.close();
console.log('released');
process.stdin.destroy();
