// The load where wrk is not installed: node autocannon.ts URL CONNECTIONS SECONDS FILE once|again [RATE]. Once a second it
// says on stderr how many requests it has sent by when; one line of JSON at the end.
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import type { LoadMeasurement } from './generator.ts';

const [url = '', connections = '', seconds = '', file = '', times, rate] = process.argv.slice(2);
const requests = readFileSync(file);
const latenciesMs: number[] = [];
let offset = 0;
let sent = 0;
let non2xx = 0;
let exhausted = false;
let finishedAt = 0;

process.stderr.write('loaded\n');
const startedAt = performance.now();
const load = autocannon({
  url,
  connections: Number(connections),
  duration: Number(seconds),
  method: 'POST',
  sampleInt: 100,
  // It sends each second's share in bursts, where wrk spreads it: waits under a moderate load are longer with it.
  ...(rate === undefined ? {} : { overallRate: Number(rate) }),
  // autocannon's own `requests` are copied for every connection, which takes minutes for a large pool.
  setupClient: (client) => {
    client.getRequestBuffer = nextRequest;
  },
});
load.on('response', (_client: unknown, status: number, _bytes: number, latencyMs: number) => {
  if (exhausted) return;
  finishedAt = performance.now();
  latenciesMs.push(latencyMs);
  if (status < 200 || status > 299) non2xx += 1;
});
process.on('SIGINT', () => load.stop());
const telling = setInterval(() => {
  process.stderr.write(`sent ${sent} ${((performance.now() - startedAt) / 1000).toFixed(6)}\n`);
}, 1_000);

function nextRequest(): Uint8Array {
  if (offset >= requests.length && times === 'again') offset = 0;
  if (offset >= requests.length) {
    // An id sent twice would be a cheaper duplicate, so the load ends here; an empty buffer writes nothing.
    exhausted = true;
    load.stop();
    return requests.subarray(0, 0);
  }
  sent += 1;
  const first = offset + 2;
  offset = first + requests.readUInt16BE(offset);
  return requests.subarray(first, offset);
}

const { errors } = await load;
clearInterval(telling);
latenciesMs.sort((a, b) => a - b);
const percentile = (share: number): number => latenciesMs[Math.floor((latenciesMs.length - 1) * share)] ?? 0;
const measurement: LoadMeasurement = {
  requests: latenciesMs.length,
  seconds: (finishedAt - startedAt) / 1000,
  p50Ms: percentile(0.5),
  p99Ms: percentile(0.99),
  non2xx,
  socketErrors: errors,
  exhausted,
};
process.stdout.write(`\n${JSON.stringify(measurement)}\n`);
