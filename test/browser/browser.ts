import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser } from 'playwright-core';
import { part } from '../helpers/parts.ts';
import { isRoomInMemory } from '../helpers/scratch-folder.ts';
import { afterAll } from 'vitest';

interface Unpacking {
  readonly inflate: (archive: string) => Promise<string>;
}

const ARCHIVES = ['chromium.br', 'al2023.tar.br', 'fonts.tar.br'];

export async function openBrowser(): Promise<Browser> {
  const home = await unpacked();
  // On a busy machine it has died of itself once before it had begun.
  return launched(home).catch(() => launched(home));
}

function launched(home: string): Promise<Browser> {
  return chromium.launch({
    executablePath: join(home, 'chromium'),
    args: ['--no-sandbox', '--font-render-hinting=none', '--disable-lcd-text'],
    // What its processes share would be in files on the disk, a new one for each piece of a picture.
    ...(isRoomInMemory() && { ignoreDefaultArgs: ['--disable-dev-shm-usage'] }),
    env: {
      ...process.env,
      FONTCONFIG_FILE: join(home, 'fonts.conf'),
      LD_LIBRARY_PATH: [join(home, 'al2023/lib'), process.env['LD_LIBRARY_PATH'] ?? ''].filter(Boolean).join(':'),
    },
  });
}

async function unpacked(): Promise<string> {
  const archives = part('@sparticuz/chromium/bin');
  const root = dirname(archives);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const home = join(root, `../../.cache/hookbox-chromium-${version}`);
  if (existsSync(home)) return home;

  mkdirSync(dirname(home), { recursive: true });
  const half = mkdtempSync(`${home}-`);
  const { inflate } = (await import(pathToFileURL(join(root, 'build/esm/lambdafs.js')).href)) as Unpacking;
  await temporarily('TMPDIR', half, () => Promise.all(ARCHIVES.map((archive) => inflate(join(archives, archive)))));
  writeFileSync(join(half, 'fonts.conf'), fontsOf(home));
  // Only a whole one gets the name that counts, whoever is stopped midway or does the same at the same time.
  try {
    renameSync(half, home);
  } catch (failure) {
    rmSync(half, { recursive: true, force: true });
    if (!existsSync(home)) throw failure;
  }
  return home;
}

async function temporarily<T>(variable: string, value: string, work: () => Promise<T>): Promise<T> {
  const former = process.env[variable];
  process.env[variable] = value;
  try {
    return await work();
  } finally {
    if (former === undefined) delete process.env[variable];
    else process.env[variable] = former;
  }
}

/** The font that came along for text, so that it is as wide everywhere; the machine's own for code and for signs it lacks. */
function fontsOf(home: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${home}/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${home}/fonts-cache</cachedir>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="strong"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="strong"><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`;
}

/** Opens something for all tests of a file. */
export async function ofFile<T extends AsyncDisposable>(opening: Promise<T>): Promise<T> {
  const opened = await opening;
  afterAll(() => opened[Symbol.asyncDispose]());
  return opened;
}
