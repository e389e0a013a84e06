import { describe, expect, it } from 'vitest';
import { timeOption, targetOf } from '../../src/cli/shared/options.ts';
import { recordingServer } from './recording-server.ts';
import { runHookbox } from './run-hookbox.ts';

const NOW = Date.parse('2026-03-14T03:59:07.250Z');

describe('a time of the command', () => {
  it.each([
    ['2h', '2026-03-14T01:59:07.250Z'],
    ['1h 30m', '2026-03-14T02:29:07.250Z'],
    ['2026-03-14', '2026-03-14T00:00:00.000Z'],
    ['2026-03-14 03:00:09 UTC', '2026-03-14T03:00:09.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(timeOption('--since', text, NOW).toISOString()).toBe(expected);
  });

  it.each(['yesterday', '2026-02-30', '0', '5', '999999999d', '99999999999999d'])('%s is none', (text) => {
    expect(() => timeOption('--since', text, NOW)).toThrow(`--since "${text}" must be a time`);
  });
});

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
    ['localhost:3000/webhooks', 'http://localhost:3000/webhooks'],
    ['localhost:3000', 'http://localhost:3000/'],
    ['127.0.0.1:80?x=1', 'http://127.0.0.1/?x=1'],
    ['[::1]:3000/webhooks', 'http://[::1]:3000/webhooks'],
  ])('means http without a scheme: %s', (text, url) => {
    expect(targetOf(text, false)).toEqual(new URL(url));
  });

  it.each(['shop.example:3000/webhooks', 'localhost.example:443'])(
    'is another machine without a scheme, too: %s',
    (text) => {
      expect(() => targetOf(text, false)).toThrow('Add --allow-remote to allow it.');
      expect(targetOf(text, true)).toEqual(new URL(`http://${text}`));
    },
  );

  it.each([
    'localhost',
    'localhost/webhooks',
    'localhost:',
    'localhost:x/',
    'localhost:99999',
    'a b:1/',
    'me:1@localhost:1/',
  ])('is no URL: %s', (text) => {
    expect(() => targetOf(text, true)).toThrow('is not an http or https URL');
  });

  it.each([
    'http://shop.localhost/',
    'http://localhost./',
    'http://127.0.0.1.example.com/',
    'http://localhost.example.com/',
    'http://0.0.0.0/',
    'http://[::ffff:127.0.0.1]/',
  ])('is another machine, perhaps: %s', (url) => {
    expect(() => targetOf(url, false)).toThrow('Add --allow-remote to allow it.');
    expect(targetOf(url, true)).toEqual(new URL(url));
  });

  it('is found by the command without its scheme', async () => {
    const server = await recordingServer();
    const { port } = new URL(server.url);
    const ran = await runHookbox(['trigger', 'order.ready', '--to', `localhost:${port}/webhooks`]);
    expect(ran).toMatchObject({ code: 0, stderr: '' });
    expect(server.requests).toHaveLength(1);
  });
});
