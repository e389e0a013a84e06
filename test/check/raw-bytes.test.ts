import { describe, expect, it } from 'vitest';
import { check } from './checking.ts';
import { scriptedEndpoint } from './scripted-endpoint.ts';

/** What the probe sent beside the one delivery of `valid`. */
async function bodiesOfRawBytes(): Promise<readonly string[]> {
  const bodies: string[] = [];
  await check(
    scriptedEndpoint(({ body, right }) => {
      bodies.push(body.toString());
      return right;
    }),
    { only: ['raw-bytes'] },
  );
  return bodies.slice(1);
}

describe('raw-bytes', () => {
  it('sends bodies that writing them again would change', async () => {
    const bodies = await bodiesOfRawBytes();

    expect(bodies).toHaveLength(4);
    for (const body of bodies) expect(JSON.stringify(JSON.parse(body))).not.toBe(body);
  });

  it('does in each way all that the way says', async () => {
    const [spaced, numbers, escaped, turned] = await bodiesOfRawBytes();

    expect(spaced).toMatch(/^\{\n {3}"id": "[^]*\}\r\n$/);
    expect(numbers?.match(/"price":6\.50[,}]/g)).toHaveLength(1);
    expect(numbers?.match(/"total":3\.005e1[,}]/g)).toHaveLength(1);
    expect(escaped).toContain(String.raw`"currency":"\u0055\u0053D"`);
    expect(turned).toMatch(/^\{\n "data": \{/);
    expect(JSON.parse(numbers ?? '')).toMatchObject({ data: { total: 30.05, items: [{ price: 6.5 }, {}] } });
    expect(JSON.parse(escaped ?? '')).toMatchObject({ data: { currency: 'USD' } });
  });
});
