// Opens the page of an app and reads how it went.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { openPage } from '../../tools/demo.mjs';
import { endTree } from '../../tools/processes.mjs';

/** Title and output of the page at `url`, once it has finished; `log` is what the console said. */
export async function outcomeOf(browser, url) {
  const page = await openPage(browser, url);
  const log = () => [...page.log, ...page.crashes].join('\n');
  try {
    await page
      .waitForFunction(() => /^(done|failed)/.test(document.title))
      .catch(() => assert.fail(`nothing happened on ${url}:\n${log()}`));
    return { title: await page.title(), text: await page.locator('#output').innerText(), log: log() };
  } finally {
    await page.close();
  }
}

/** Starts a server that prints its address, calls `work` with that, and ends the server. */
export async function withServer(args, cwd, work) {
  const child = spawn(process.execPath, args, { cwd, detached: process.platform !== 'win32' });
  try {
    const url = await new Promise((resolve, reject) => {
      let said = '';
      const listen = (piece) => {
        said += stripVTControlCharacters(String(piece));
        const match = /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(said);
        if (match) resolve(match[0]);
      };
      child.stdout.on('data', listen);
      child.stderr.on('data', listen);
      child.on('exit', () => reject(new Error(`${args.join(' ')} ended: ${said}`)));
    });
    await work(url);
  } finally {
    endTree(child);
  }
}
