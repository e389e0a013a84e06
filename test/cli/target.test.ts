import { describe, expect, it } from 'vitest';
import { targetOf } from '../../src/cli/shared/target-url.ts';

describe('the target of a delivery', () => {
  it.each([
    'http://localhost:3000/',
    'https://127.0.0.1/',
    'http://127.8.9.10/',
    'http://[::1]:80/',
    'http://2130706433/',
    'http://0x7f.1/',
  ])('is this machine: %s', (url) => {
    expect(targetOf(url, false)).toEqual(new URL(url));
  });

  it.each([
    'http://shop.localhost/',
    'http://localhost./',
    'http://127.0.0.1.example.com/',
    'http://localhost.example.com/',
    'http://0.0.0.0/',
    'http://[::ffff:127.0.0.1]/',
  ])('is another machine, perhaps: %s', (url) => {
    expect(() => targetOf(url, false)).toThrow('Add --allow-remote if you mean it.');
    expect(targetOf(url, true)).toEqual(new URL(url));
  });
});
