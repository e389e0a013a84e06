// @module-tag long
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { checkEndpoint } from '../../src/cli/check/check-endpoint.ts';
import { probeNames } from '../../src/cli/check/probe-names.ts';
import { check, findingOf, probesWith, SECRET } from './checking.ts';
import { scriptedEndpoint, type Asked } from './scripted-endpoint.ts';

describe('checkEndpoint', () => {
  it('delivers as the service does, each event under an id of the run', async () => {
    const seen: Asked[] = [];
    const report = await check(
      scriptedEndpoint((asked) => {
        seen.push(asked);
        return asked.right;
      }),
    );

    expect(report.ids).toMatch(/^evt_check_[0-9a-f]{8}_$/);
    const posted = seen.filter(({ method }) => method === 'POST');
    for (const { headers, body } of posted) {
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'content-length': String(body.byteLength) });
      expect(body.toString('latin1')).toContain(report.ids);
    }
    expect(new Set(posted.map(({ isAuthentic }) => isAuthentic))).toEqual(new Set([true, false]));
  });

  it('runs valid and what was chosen, in the order of the list', async () => {
    const only = await check(scriptedEndpoint(), { only: ['in-time', 'unsigned'] });
    const skip = await check(scriptedEndpoint(), { only: ['in-time', 'unsigned'], skip: ['in-time'] });

    expect(only.probes.map(({ name }) => name)).toEqual(['valid', 'unsigned', 'in-time']);
    expect(skip.probes.map(({ name }) => name)).toEqual(['valid', 'unsigned']);
    expect(only).toMatchObject({ full: false, interrupted: false, marks: { passed: 3, judged: 3, probes: 3 } });
  });

  it('stops when it is told to, and reports what it has found so far', async () => {
    const stop = new AbortController();
    const report = await check(scriptedEndpoint(), {
      signal: stop.signal,
      onResult: ({ name }) => name === 'unsigned' && stop.abort(),
    });

    expect(report).toMatchObject({ interrupted: true, full: false });
    expect(report.probes.at(-1)).toMatchObject({ name: 'unsigned', verdict: 'pass' });
  });

  it('judges nothing else where a valid delivery is refused, and says why', async () => {
    let requests = 0;
    const report = await check(
      scriptedEndpoint(() => {
        requests += 1;
        return 401;
      }),
    );

    expect(requests).toBe(1);
    expect(probesWith(report, 'fault')).toEqual(['valid']);
    expect(findingOf(report, 'valid').mend).toContain('the same secret');
    expect(probesWith(report, 'unknown')).toEqual(probeNames.filter((name) => name !== 'valid'));
    expect(report.marks).toEqual({ passed: 0, judged: 1, probes: probeNames.length });
  });

  it.each([
    [
      'a redirect',
      { status: 307, headers: { Location: '/effects/followed' } },
      '307',
      'the address that the redirect leads to',
    ],
    ['a page that is not there', 404, '404', 'Check the path'],
    ['a 500', 500, '500', 'log of the endpoint'],
    ['a cut connection', 'cut', 'reset without an answer', 'logs of the endpoint'],
    ['nothing at all', 'none', 'no answer within 2.1 s', 'as soon as the event is stored'],
  ] as const)('knows what to do about %s', async (_, reply, received, mend) => {
    const report = await check(
      scriptedEndpoint(() => reply),
      { only: ['valid'], deadlineMs: 100 },
    );

    expect(findingOf(report, 'valid')).toMatchObject({ verdict: 'fault' });
    expect(findingOf(report, 'valid').received).toContain(received);
    expect(findingOf(report, 'valid').mend).toContain(mend);
  });

  it('tells which probe an endpoint did not survive', async () => {
    const server = createServer(
      scriptedEndpoint(({ isAuthentic, id, right }) => {
        if (!isAuthentic || id !== null || right !== 400) return right;
        server.close();
        server.closeAllConnections();
        return 'none';
      }),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;

    const report = await checkEndpoint(`http://127.0.0.1:${port}/webhooks`, {
      secret: SECRET,
      only: ['malformed-json', 'burst'],
    });

    expect(probesWith(report, 'fault')).toEqual(['malformed-json']);
    expect(probesWith(report, 'unknown')).toEqual(['burst']);
    expect(findingOf(report, 'burst').why).toContain('The endpoint stopped during the probe malformed-json');
  });

  it('keeps the secret, and what would play with a terminal, out of its report', async () => {
    const body = `\u001b[2J\u009b31m the secret is ${SECRET} \u0007\u202e${'x'.repeat(1_000)}`;
    const report = await check(
      scriptedEndpoint(() => ({ status: 500, body })),
      { only: ['valid'] },
    );

    const { received } = findingOf(report, 'valid');
    expect(received).toMatch(/^500 after \d+ ms: \[2J 31m the secret is <the secret> \s+x+…$/);
    expect(JSON.stringify(report)).not.toContain(SECRET);
  });
});
