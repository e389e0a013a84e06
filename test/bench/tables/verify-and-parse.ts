import { z } from 'zod';
import { atMost, type Figure } from '../goals.ts';
import { table } from '../markdown.ts';
import { cells, undisturbed } from '../marks.ts';
import { runProcess } from '../run-process.ts';
import type { Table } from '../table.ts';

const times = z.array(z.object({ name: z.string(), title: z.string(), microseconds: z.number() }));

/** What verifying and parsing one event costs with each library, in a process of its own: no other code has shaped it. */
export const verifyAndParse: Table = {
  name: 'parse',
  async measure(bench) {
    const script = new URL('../verify-and-parse/measure.ts', import.meta.url);
    const { value, disturbed } = await bench.disturbance.alone(async () =>
      times.parse(await runProcess(script, [String(bench.options.quickRounds)])),
    );
    const of = (name: string): number | undefined => value.find((each) => each.name === name)?.microseconds;
    const own = of('hookbox');
    const ratio = (name: string): Figure => {
      const other = of(name);
      return undisturbed(bench, disturbed, own === undefined || other === undefined ? undefined : own / other);
    };
    const lines = value.map(({ title, microseconds }) => [
      title,
      ...cells(bench, { disturbed, fault: null }, [
        microseconds.toFixed(1),
        own === undefined ? '–' : (microseconds / own).toFixed(2),
      ]),
    ]);
    return {
      text: `### Verify and parse one event\n\n${table(['Library', 'µs', 'Of hookbox'], lines)}`,
      goals: [
        atMost(
          'verify and parse: time, of standardwebhooks',
          { wanted: 0.5, stretch: 0.33 },
          ratio('standardwebhooks'),
        ),
        atMost('verify and parse: time, of hand-written', { wanted: 1.2 }, ratio('hand-written')),
      ],
      disturbed,
      data: value,
    };
  },
};
