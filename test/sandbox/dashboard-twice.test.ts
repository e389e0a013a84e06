import { describe, expect, it, vi } from 'vitest';
import { type Outcome, onceEach } from '../../src/sandbox/page/forms.ts';

const DONE: Outcome = { to: '/keys', said: 'key-made' };

function form(sight: string): FormData {
  const form = new FormData();
  form.set('sight', sight);
  return form;
}

describe('forms that come twice', () => {
  it('are known by their path and all of their fields', async () => {
    const once = onceEach();
    const work = vi.fn(() => DONE);
    for (const [path, sight] of ['a1', 'a1', 'a2', 'b1'].map((name) => [`/${name[0]}`, name[1] ?? ''] as const)) {
      await once(path, form(sight), work);
    }
    expect(work).toHaveBeenCalledTimes(3);
  });

  it('wait for the first one, and hear what it came to', async () => {
    const once = onceEach();
    const first = Promise.withResolvers<Outcome>();
    const work = vi.fn(async () => first.promise);
    const both = [once('/a', form('1'), work), once('/a', form('1'), work)];
    first.resolve(DONE);
    expect(await Promise.all(both)).toEqual([
      { ...DONE, isAgain: false },
      { ...DONE, isAgain: true },
    ]);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('are done when the first one has failed', async () => {
    const once = onceEach();
    const failing = () => {
      throw new Error('not now');
    };
    await expect(once('/a', form('1'), failing)).rejects.toThrow('not now');
    expect(await once('/a', form('1'), () => DONE)).toEqual({ ...DONE, isAgain: false });
  });

  it('show a secret again for a moment, and then never, and do nothing all the same', async () => {
    const once = onceEach(20);
    const shown = () => ({ title: 'A secret', current: '/keys', content: Promise.reject(new Error('not rendered')) });
    const work = vi.fn(() => ({ ...DONE, once: shown }));
    await once('/a', form('1'), work);
    expect((await once('/a', form('1'), work)).once).toBe(shown);
    await expect.poll(async () => (await once('/a', form('1'), work)).once).toBeUndefined();
    expect(await once('/a', form('1'), work)).toEqual({ ...DONE, isAgain: true });
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('are forgotten, the oldest first, before they take up memory', async () => {
    const once = onceEach();
    const work = vi.fn(() => DONE);
    for (let n = 0; n < 1_001; n += 1) await once('/a', form(String(n)), work);
    expect((await once('/a', form('1000'), work)).isAgain).toBe(true);
    expect((await once('/a', form('0'), work)).isAgain).toBe(false);
  });
});
