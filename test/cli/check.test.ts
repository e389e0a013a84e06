import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { webhookHandler } from '../../adapters/node.ts';
import { probeNames, PROBES } from '../../src/cli/check/probe-names.ts';
import type { CheckReport } from '../../src/cli/check/check-endpoint.ts';
import { createReceiver } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { listening, type Listening } from './listening.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { handWritten } from '../check/hand-written.ts';
import { scriptedEndpoint } from '../check/scripted-endpoint.ts';
import { runHookbox, SECRET, startHookbox } from './run-hookbox.ts';

let hookbox: Listening;
let unsigned: Listening;
beforeAll(async () => {
  hookbox = await listening(hookboxHandler());
  unsigned = await listening(handWritten(SECRET, 'acceptsUnsigned'));
});
afterAll(async () => {
  await hookbox.close();
  await unsigned.close();
});

function hookboxHandler(): ReturnType<typeof webhookHandler> {
  const inbox = memoryInbox({ ephemeral: true });
  return webhookHandler(createReceiver({ secret: SECRET, inbox, logger: recordedLog().logger }));
}

function effectsOf({ url }: Listening): string {
  return `${new URL(url).origin}/effects/{id}`;
}

describe('hookbox check', () => {
  it('gives hookbox full marks, a line for each probe', async () => {
    const { code, stdout, stderr } = await runHookbox(['check', hookbox.url]);

    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(probeNames.length);
    for (const [n, name] of probeNames.entries()) {
      expect(lines[n]).toMatch(new RegExp(`^pass {3}${name} +${PROBES[name]}`));
    }
    expect(stderr).toMatch(
      /^Checking \S+\. The ids of the test events begin with evt_check_[0-9a-f]{8}_\. Afterwards, discard/,
    );
    expect(stderr).toContain(`Full marks: ${probeNames.length} of ${probeNames.length} judged probes passed.`);
  });

  it('tells of a fault what was sent, what came back, why it matters and how to mend it', async () => {
    const ran = await runHookbox(['check', unsigned.url, '--effects', effectsOf(unsigned), '--only', 'unsigned']);

    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(
      new RegExp(
        [
          /^pass {3}valid +accepts a signed delivery\n/,
          /FAULT {2}unsigned +rejects a delivery without a signature\n\n/,
          /FAULT {2}unsigned\n/,
          / +sent +order\.created, id evt_check_[0-9a-f]{8}_2, without X-Signature\n/,
          / +received +200 after \d+ ms: {"ok":true} \(and 1 more like it\)\n/,
          / +why +A sender who knows only the URL can send events [^]*\n/,
          / +mend +Return 401 if X-Signature is missing or empty\. [^]*\n$/,
        ]
          .map(({ source }) => source)
          .join(''),
      ),
    );
    expect(ran.stderr).toContain('1 of 2 judged probes passed; 1 fault.');
    expect(ran.stdout + ran.stderr).not.toContain(SECRET);
  });

  it('tells what cannot be judged once, with how to find out, and ends well', async () => {
    const right = await listening(handWritten(SECRET));
    const only = ['--only', 'stored-first', 'duplicates', 'duplicates-at-once'];
    const blind = await runHookbox(['check', right.url, ...only]);
    const seeing = await runHookbox(['check', right.url, ...only, '--effects', effectsOf(right)]);
    await right.close();

    expect(blind.code).toBe(0);
    expect(blind.stdout).toContain('\n?      stored-first ');
    expect(blind.stdout).toContain('\n?      stored-first, duplicates, duplicates-at-once\n');
    expect(blind.stdout.match(/Pass --effects/g)).toHaveLength(1);
    expect(blind.stderr).toContain('1 of 1 judged probes passed; 3 unknown.');
    expect(seeing.code).toBe(0);
    expect(seeing.stdout).not.toContain('?');
    expect(seeing.stdout).toContain('stores before it answers (judged by --effects)');
  });

  it('ends with 3 where nothing could be judged, because not one delivery was taken', async () => {
    const limited = await listening(scriptedEndpoint(() => ({ status: 429, headers: { 'Retry-After': '3600' } })));
    const { code, stdout } = await runHookbox(['check', limited.url]);
    await limited.close();

    expect(code).toBe(3);
    expect(stdout).toContain('rate limit');
  });

  it('ends well with warnings alone', async () => {
    const lax = await listening(scriptedEndpoint(({ right }) => (right === 401 ? 400 : right)));
    const { code, stdout } = await runHookbox(['check', lax.url, '--only', 'unsigned']);
    await lax.close();

    expect(code).toBe(0);
    expect(stdout).toContain('warn   unsigned');
  });

  it('prints the whole report as JSON', async () => {
    const { code, stdout, stderr } = await runHookbox(['check', unsigned.url, '--json', '--only', 'unsigned']);

    const report = JSON.parse(stdout) as CheckReport;
    expect(code).toBe(1);
    expect(report).toMatchObject({
      url: unsigned.url,
      ids: expect.stringMatching(/^evt_check_[0-9a-f]{8}_$/) as unknown,
      deadlineMs: 10_000,
      interrupted: false,
      full: false,
      marks: { passed: 1, judged: 2, probes: 2 },
      probes: [
        { name: 'valid', title: PROBES.valid, verdict: 'pass', findings: [] },
        { name: 'unsigned', verdict: 'fault', findings: [{ verdict: 'fault' }, { verdict: 'fault' }] },
      ],
    });
    expect(Object.keys(report.probes[1]?.findings[0] ?? {})).toEqual(['verdict', 'sent', 'received', 'why', 'mend']);
    expect(stderr).toContain('1 fault');
  });

  it('measures against the deadline that it is given', async () => {
    const late = await listening(
      scriptedEndpoint(
        ({ right }) =>
          new Promise((resolve) => {
            setTimeout(resolve, 100, right);
          }),
      ),
    );
    const { code, stdout } = await runHookbox(['check', late.url, '--only', 'in-time', '--deadline', '50']);
    await late.close();

    expect(code).toBe(1);
    expect(stdout).toMatch(/received +a 2xx after \d+ ms; the limit is 50 ms\n/);
    expect(stdout.split('\n')[0]).toMatch(/^FAULT {2}valid /);
  });

  it('ends with one line where nothing listens', async () => {
    const { url, close } = await listening(() => {});
    await close();

    expect(await runHookbox(['check', url])).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: hookbox cannot reach ${url}: the connection was refused. Check that the endpoint is running at this address.\n`,
    });
  });

  it('sends the headers that it is given with every delivery', async () => {
    const guarded = await listening(
      scriptedEndpoint(({ right, headers }) => (headers.authorization === 'Bearer x' ? right : 403)),
    );
    const args = ['check', guarded.url, '--only', 'unsigned', '--header'];
    expect(await runHookbox([...args, 'Authorization: Bearer x'])).toMatchObject({ code: 0 });
    expect(await runHookbox([...args, 'Authorization: Bearer y'])).toMatchObject({ code: 1 });
    await guarded.close();
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'on %s reports what it has found so far, and ends with 130',
    async (signal) => {
      const silent = await listening(scriptedEndpoint(({ right }) => (right === 401 ? 'none' : right)));
      const child = startHookbox(['check', silent.url, '--skip', 'raw-bytes']);
      let stdout = '';
      let stderr = '';
      child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.stdout?.on('data', (chunk: Buffer) => {
        stdout += chunk.toString();
        if (stdout.includes('invalid-utf8')) child.kill(signal); // unsigned comes next, and waits
      });
      await once(child, 'close');
      await silent.close();

      expect(child.exitCode).toBe(130);
      expect(stdout.trimEnd().split('\n')).toHaveLength(5);
      expect(stderr).toContain('Interrupted. 5 of 5 judged probes passed.');
    },
  );

  it.each([
    ['what is no URL', ['webhooks'], 'is not an http or https URL'],
    ['another machine', ['https://shop.example/webhooks'], 'Add --allow-remote to allow it.'],
    ['effects on another machine', ['http://127.0.0.1:1/', '--effects', 'http://shop.example/{id}'], '--allow-remote'],
    [
      'effects without {id}',
      ['http://127.0.0.1:1/', '--effects', 'http://127.0.0.1:1/'],
      'The URL of --effects must contain {id}',
    ],
    ['effects that are no URL', ['http://127.0.0.1:1/', '--effects', '{id}'], 'is not an http or https URL'],
    [
      'an unknown probe',
      ['http://127.0.0.1:1/', '--only', 'everything'],
      "argument 'everything' is invalid. Use one of: valid, every-type,",
    ],
    ['valid to be skipped', ['http://127.0.0.1:1/', '--skip', 'valid'], '--skip cannot include valid'],
    ['a deadline of 0', ['http://127.0.0.1:1/', '--deadline', '0'], 'Use a whole number from 1 to 3600000.'],
  ])('given %s, says what to do and ends with 2', async (_, args, message) => {
    const ran = await runHookbox(['check', ...args]);

    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).not.toContain('    at ');
  });

  it('explains its probes, its evidence and its events in the help', async () => {
    const { code, stdout } = await runHookbox(['check', '--help']);

    expect(code).toBe(0);
    for (const name of probeNames) expect(stdout).toContain(`  ${name} `);
    const help = stdout.replaceAll(/\s+/g, ' ');
    expect(help).toContain('rows is how many times the event was stored');
    expect(help).toContain('stores an event less than a millisecond after its response, the check cannot notice');
    expect(help).toContain('The ids of the test events begin with evt_check_');
  });
});
