// What is cleared or deleted on the demo page stays so: while an answer is written, in other tabs, over reloads.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage, send, waitForState } from '../../tools/demo.mjs';
import { script, scriptedDemo, storedChats } from './demo_scripted.mjs';
import { openSite, until } from './site.mjs';

const site = await openSite();
const withScripted = scriptedDemo(site);

/** Begins an answer that has no end of its own, and waits until a part of it is stored. */
async function beginAnswer(page, question = 'Tell me') {
  await script(page, { text: 'word '.repeat(50_000), wait: 2 });
  await send(page, question);
  await page.waitForFunction(() => document.querySelector('.turn:last-child .assistant').innerText.length > 40);
  assert.ok((await storedChats(page)).length > 0);
}

/** Presses the button that clears everything, and confirms. */
async function clear(page) {
  await page.evaluate(() => {
    const button = document.querySelector('#forget');
    button.click();
    button.click();
  });
}

/** What is stored once nothing is being written any more. */
async function left(page) {
  await waitForState(page, ['ready']);
  // Whatever follows the end of an answer has run after the next message.
  await script(page, { text: 'Yes.' });
  const before = await storedChats(page);
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide')));
  assert.deepEqual(await storedChats(page), before, 'leaving the page stores nothing more');
  return before;
}

test('what is cleared while an answer is written is not stored again', async () => {
  await withScripted(async (page) => {
    await beginAnswer(page);
    await clear(page);
    assert.equal(await page.locator('.turn').count(), 0);
    assert.deepEqual(await left(page), []);
    await page.reload();
    await waitForState(page, ['ready']);
    assert.equal(await page.locator('.turn, #chats li').count(), 0);
  });
});

test('leaving the page after a clear stores nothing, also while the answer ends', async () => {
  await withScripted(async (page) => {
    await beginAnswer(page);
    await page.evaluate(() => {
      const button = document.querySelector('#forget');
      button.click();
      button.click();
      dispatchEvent(new PageTransitionEvent('pagehide'));
    });
    assert.deepEqual(await left(page), []);
  });
});

test('a conversation that is deleted while its answer is written stays deleted, open or not', async () => {
  await withScripted(async (page) => {
    await beginAnswer(page, 'One');
    await page.click('#chats .delete');
    assert.deepEqual(await left(page), []);
    await beginAnswer(page, 'Two');
    // It is left, and deleted before its answer has ended.
    await page.evaluate(() => {
      document.querySelector('#new-chat').click();
      document.querySelector('#chats .delete').click();
    });
    assert.deepEqual(await left(page), []);
    assert.equal(await page.locator('#chats li').count(), 0);
  });
});

test('what is undone while an answer is written is there again', async () => {
  await withScripted(async (page) => {
    await beginAnswer(page, 'One');
    await page.click('#chats .delete');
    await page.click('#undo button');
    assert.equal((await left(page)).length, 1);
    await page.click('.chat-open');
    assert.match(await page.innerText('.assistant'), /^word /);
  });
});

test('an answer that another tab writes does not bring back what this one clears or deletes', async () => {
  await withScripted(async (page, context) => {
    const other = await openPage(context, `${site.url}/?model=/chat-1b.gguf`);
    await waitForState(other, ['ready']);
    for (const remove of [clear, (tab) => tab.click('#chats .delete')]) {
      await beginAnswer(other);
      await page.waitForFunction(() => document.querySelectorAll('#chats li').length === 1);
      await remove(page);
      await until(async () => (await other.locator('.turn').count()) === 0, 'the other tab has closed it');
      assert.deepEqual(await left(other), []);
      assert.deepEqual(await storedChats(page), []);
    }
    await beginAnswer(other, 'And now?');
    assert.equal((await storedChats(page)).length, 1, 'the other tab goes on');
    assert.deepEqual(other.crashes, []);
  });
});

test('a tab that hears of nothing stores nothing that was deleted', async () => {
  await withScripted(async (page, context) => {
    const other = await openPage(context, `${site.url}/?model=/chat-1b.gguf`);
    await waitForState(other, ['ready']);
    await other.evaluate(() => {
      addEventListener('storage', (event) => event.stopImmediatePropagation(), true);
    });
    await beginAnswer(page);
    await page.evaluate(() => {
      // As another tab does, without an event.
      for (const key of Object.keys(localStorage)) localStorage.removeItem(key);
    });
    await page.keyboard.press('Escape');
    assert.deepEqual(await left(page), []);
  });
});

test('players give back their sounds when the conversation is left', async () => {
  await withScripted(async (page) => {
    const held = await page.evaluate(async () => {
      const held = new Set();
      const { createObjectURL, revokeObjectURL } = URL;
      URL.createObjectURL = (blob) => {
        const url = createObjectURL(blob);
        held.add(url);
        return url;
      };
      URL.revokeObjectURL = (url) => {
        held.delete(url);
        revokeObjectURL(url);
      };
      const { Turn } = await import('./demo/chat.js');
      const file = new Blob(['x'], { type: 'audio/wav' });
      const sound = { id: 'a', kind: 'sound', name: 'a.wav', seconds: 1, file };
      const turn = new Turn({ user: 'Hear', attachments: [sound, { ...sound, id: 'b' }] });
      const first = held.size;
      turn.show([sound]);
      const second = held.size;
      turn.release();
      return [first, second, held.size];
    });
    assert.deepEqual(held, [2, 1, 0]);
  });
});
