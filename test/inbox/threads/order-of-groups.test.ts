import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { GroupCommit, type CommitOutcome } from '../../../src/inbox/group-commit.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { InboxThreads } from '../../../src/inbox/sqlite/threads/inbox-threads.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';

it('a group that was sent behind one that found the file busy does not come first', async () => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file, { thread: false });
  const { operations: here } = inbox;
  if (here === undefined) throw new Error('no operations');
  const nothing = (): void => {};
  const threads = new InboxThreads({
    file,
    here,
    newest: () => 0,
    notify: nothing,
    writerStarted: nothing,
    whyNot: () => null,
    isInPlace: () => true,
    unusable: nothing,
    noOperators: nothing,
  });
  onTestFinished(() => threads.close());
  const accept = (id: string, body: string) =>
    ({ name: 'accept', given: [incoming({ id, body })], requestedAt: 0 }) as const;
  const stored = (...ids: string[]) =>
    ids.map(() => ({ result: expect.objectContaining({ result: 'stored' }) as unknown }));
  expect(await threads.commit([accept('evt_0', 'ready')], false)).toEqual(stored('evt_0'));

  const other = new Database(file);
  other.exec('BEGIN IMMEDIATE');
  expect(await threads.commit([accept('evt_1', 'first')], false)).toEqual(['busy']);
  other.exec('ROLLBACK');
  other.close();
  const second = [accept('evt_1', 'second'), accept('evt_2', 'second')];
  expect(await threads.commit(second, false)).toEqual(['busy', 'busy']);
  const [first] = await threads.commit([accept('evt_1', 'first'), ...second], true);
  expect([first]).toEqual(stored('evt_1'));
  expect(await threads.commit([accept('evt_3', 'third')], false)).toEqual(stored('evt_3'));
  expect((await inbox.list()).map(({ id, body }) => `${id} ${String(body)}`)).toEqual([
    'evt_0 ready',
    'evt_1 first',
    'evt_2 second',
    'evt_3 third',
  ]);
});

it('whoever commits groups is told that one comes again, and no other beside it', async () => {
  const asked: (readonly [jobs: string, isAgain: boolean])[] = [];
  const answers: ((outcomes: readonly CommitOutcome[]) => void)[] = [];
  const queue = new GroupCommit<string>((jobs, isAgain) => {
    asked.push([jobs.join(), isAgain]);
    return new Promise((resolve) => answers.push(resolve));
  });
  const done = { result: null };
  const submitted = async (job: string, groups: number): Promise<void> => {
    void queue.submit(job, 1, later());
    await expect.poll(() => asked).toHaveLength(groups);
  };
  await submitted('one', 1);
  await submitted('two', 2);
  answers[0]?.(['busy']);
  void queue.submit('three', 1, later());
  answers[1]?.(['busy']);
  await expect.poll(() => asked).toHaveLength(3);
  answers[2]?.(['busy', done, done]);
  await expect.poll(() => asked).toHaveLength(4);
  answers[3]?.([done]);
  await submitted('four', 5);
  answers[4]?.([done]);
  await queue.close();
  expect(asked).toEqual([
    ['one', false],
    ['two', false],
    ['one,two,three', true],
    ['one', true],
    ['four', false],
  ]);
});
