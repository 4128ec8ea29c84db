import { expect, it } from 'vitest';
import { ended, queue } from '../support/downloads.ts';
import { startInstallation } from '../support/installation.ts';
import { makeFilms } from '../support/lossy-films.ts';
import { startLossyPlatform } from '../support/lossy-platform.ts';
import type { FaultyFile } from '../support/lossy-platform.ts';
import { planFile } from '../support/plans.ts';
import { scaled } from '../support/proof-scale.ts';
import { findDownloader } from '../support/sample-platform.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const faults: readonly (FaultyFile & { packaging: 'hls' | 'dash' | 'file' })[] = [
  { packaging: 'hls', name: 'film3.ts', fault: { kind: 'status', status: 404 } },
  { packaging: 'dash', name: 'piece1.2.m4s', fault: { kind: 'cut', atByte: 500 } },
  { packaging: 'file', name: 'film.mp4', fault: { kind: 'cut', atByte: 40_000 } },
  { packaging: 'hls', name: 'film0.ts', fault: { kind: 'closed', atByte: 900 } },
  { packaging: 'dash', name: 'piece0.4.m4s', fault: { kind: 'status', status: 503 } },
  { packaging: 'hls', name: 'film1.ts', fault: { kind: 'other', name: 'film2.ts' } },
];

it(
  'a film of which a part is lost is never done, whatever is tried; without the loss it is',
  { timeout: 180_000 },
  async () => {
    const films = makeFilms(temporaryDirectory(), (await findDownloader()).ffmpegPath);
    const lossy = await startLossyPlatform();
    await using installation = await startInstallation({
      SAMPLE_PLATFORM_URL: lossy.url,
      PLANS_FILE: planFile({ hourly_limit: 10_000, overage_cents: 5 }),
      WORKER_SLOTS: '3',
    });
    const [api] = await Promise.all(
      (['api', 'projector', 'dispatcher', 'worker'] as const).map((role) => installation.startRole(role)),
    );
    const { key } = await installation.openAccount();
    const url = api?.url ?? '';
    const download = async (packaging: 'hls' | 'dash' | 'file', fault?: FaultyFile) => {
      const film = films.get(packaging);
      if (!film) throw new Error(`no film as ${packaging}`);
      const { request_token: token } = await queue(url, key, { url: lossy.reference(film, fault).canonicalUrl });
      return ended(url, key, token, 150_000);
    };
    const lossless = download('hls');
    const answers = await Promise.all(
      faults.slice(0, scaled(2, faults.length)).map(({ packaging, ...faulty }) => download(packaging, faulty)),
    );
    expect(answers.map((answer) => (answer.status === 'failed' ? answer.error : answer.status))).toEqual(
      answers.map(() => 'platform_error'),
    );
    expect(await lossless).toMatchObject({ status: 'done' });
    await lossy.close();
  },
);
