// The demo page with scripted_model.js in place of the package, for tests of what the page makes of answers.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../tools/common.mjs';
import { openPage, waitForState } from '../../tools/demo.mjs';

const SCRIPTED = fs.readFileSync(path.join(ROOT, 'tests', 'page', 'scripted_model.js'), 'utf8');

/**
 * A function that opens the scripted demo for `work(page, context)`, which may open more pages of the context; no page
 * may have thrown at its end.
 * @param {{url: string, browser: object}} site see `openSite`
 */
export const scriptedDemo =
  (site, { query = '?model=/chat-1b.gguf' } = {}) =>
  async (work, options = {}) => {
    const context = await site.browser.newContext({ serviceWorkers: 'block', ...options });
    const body = SCRIPTED;
    await context.route('**/dist/index.js', (route) => route.fulfill({ contentType: 'text/javascript', body }));
    const page = await openPage(context, `${site.url}/${query}`);
    await waitForState(page, ['ready', 'empty']);
    try {
      await work(page, context);
      assert.deepEqual(page.crashes, [], 'no uncaught error on the page');
    } finally {
      await context.close();
    }
  };

/** What the scripted model writes next, see scripted_model.js. */
export const script = (page, values) =>
  page.evaluate((given) => {
    globalThis.script = given;
  }, values);

const CHAT = 'webgguf.demo.chat.';

/** Stores the conversation `chat` as the page does, as the one that was open last. */
export const plant = (page, chat) =>
  page.evaluate(
    ([prefix, given]) => {
      const turn = { user: 'Hello', answer: '', meta: '1 token', plain: false, json: false };
      const turns = (given.turns ?? [{}]).map((each) => ({ ...turn, ...each }));
      const model = { url: `${location.origin}/chat-1b.gguf`, label: 'chat-1b.gguf' };
      const stored = { title: 'Planted', model, updated: Date.now(), ...given, turns };
      localStorage.setItem(`${prefix}planted`, JSON.stringify(stored));
      const last = JSON.parse(localStorage.getItem('webgguf.demo') ?? '{}');
      localStorage.setItem('webgguf.demo', JSON.stringify({ ...last, model: stored.model, chat: 'planted' }));
    },
    [CHAT, chat],
  );

/** Conversations that are stored, by id. */
export const storedChats = (page) =>
  page.evaluate(
    (prefix) =>
      Object.keys(localStorage)
        .filter((key) => key.startsWith(prefix))
        .map((key) => key.slice(prefix.length)),
    CHAT,
  );
