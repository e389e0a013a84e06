// node asking-process.ts FILE, forked: tells the titles of the questions, then asks the one that each message names by its place and
// answers how many milliseconds that took. It ends when its parent disconnects.
import { sqliteInbox } from 'hookbox/sqlite';
import { questions } from './questions.ts';

const [file = ''] = process.argv.slice(2);
const inbox = sqliteInbox(file);
const all = await questions(inbox);
process.on('message', (place) => {
  void (async () => {
    const startedAt = performance.now();
    await all[Number(place)]?.ask();
    process.send?.(performance.now() - startedAt);
  })();
});
process.once('disconnect', () => void inbox.close());
process.send?.(all.map(({ title }) => title));
