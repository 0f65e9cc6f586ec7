// `npm run soak -- [--minutes 10] [--seed N]`: requests in several tabs while servers, devices, workers, disk and tabs
// fail at random moments. It ends with how the requests ended; where something is wrong it says so with the seed.

import { build } from './build.mjs';
import { runMain } from './common.mjs';
import { option } from './serve.mjs';
import { soak } from '../tests/soak/soak.mjs';

await runMain(async () => {
  const minutes = Number(option('minutes', 10));
  const seed = Number(option('seed', Date.now() % 1_000_000));
  await build();
  const until = Date.now() + minutes * 60_000;
  console.log(`seed ${seed}, ${minutes} minutes`);
  const found = await soak({ rounds: Infinity, seed, say: console.log, isOver: () => Date.now() > until });
  console.log(JSON.stringify(found));
});
