// Pictures on the demo page as a person gives them: dropped, pasted, chosen, taken; what the page keeps of them, and
// what it says where there is nothing to see.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { FAKE_CAMERA } from '../../tools/browser.mjs';
import { say, send, waitForState } from '../../tools/demo.mjs';
import { ENCODERS } from '../js/encoders.mjs';
import { testIf } from '../long.mjs';
import { checkLook, demoWith, give, LOOKS, note, SIZES } from './demo_attachments.mjs';
import { openSite, screenshot, SMALL } from './site.mjs';

const site = await openSite({ args: FAKE_CAMERA });
const SEES = 'model=/fixtures/models/lfm2-bf16.gguf&mmproj=/fixtures/encoders/lfm2.gguf';
const picture = (name) => fs.readFileSync(path.join(ENCODERS, name));
const SMALL_PICTURE = picture('picture-60x40.png');
const OTHER_PICTURE = picture('picture-70x90.png');

/** The first bytes of a PNG of this size. */
function header(width, height) {
  const bytes = Buffer.alloc(33);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

const withDemo = demoWith(site, SEES);

const attached = (page) => page.locator('#attached img').evaluateAll((all) => all.map(({ alt }) => alt));
const expectAttached = (page, count) =>
  page.waitForFunction((wanted) => document.querySelectorAll('#attached img').length === wanted, count);
/** Tokens that the model had to read for the last answer. */
const promptTokens = async (page) =>
  Number(/of (\d+) prompt tokens/.exec(await page.innerText('.turn:last-child .meta'))?.[1] ?? 0);

test('pictures are dropped, pasted and chosen, removed with the keyboard, and seen by the model', async () => {
  await withDemo(async (page) => {
    assert.match(await page.innerText('#welcome-text'), /sees: drop, paste, choose or take a picture/);
    assert.match(await page.innerText('#facts'), /Sees\s+pictures/);
    await give(page, 'drop', { 'one.png': SMALL_PICTURE, 'two.png': OTHER_PICTURE });
    await expectAttached(page, 2);
    await give(page, 'paste', { 'image.png': SMALL_PICTURE });
    await expectAttached(page, 3);
    await page.setInputFiles('#files', [
      path.join(ENCODERS, 'picture-144x96.png'),
      path.join(ENCODERS, 'picture-20x22.png'),
    ]);
    await expectAttached(page, 5);
    assert.deepEqual(await attached(page), [
      'one.png, 60 × 40 pixels',
      'two.png, 70 × 90 pixels',
      'image.png, 60 × 40 pixels',
      'picture-144x96.png, 144 × 96 pixels',
      'picture-20x22.png, 20 × 22 pixels',
    ]);

    await page.getByRole('button', { name: 'Remove picture-20x22.png' }).focus();
    await page.keyboard.press('Delete');
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Backspace');
    assert.deepEqual(
      (await attached(page)).map((alt) => alt.slice(0, 9)),
      ['one.png, ', 'image.png'],
    );
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), 'Remove image.png');
    await page.keyboard.press('Delete');

    await say(page, 'What is this?');
    await expectAttached(page, 0);
    const shown = page.locator('.message.user .picture img');
    assert.equal(await shown.getAttribute('alt'), 'one.png, 60 × 40 pixels');
    assert.equal(await page.innerText('.message.user'), 'What is this?');
    await say(page, 'And now?');
    const seen = await promptTokens(page);
    await shown.click();
    assert.equal(await page.innerText('#viewer-name'), 'one.png, 60 × 40 pixels');
    assert.equal(
      await page.locator('#viewer-image').evaluate((image) => image.decode().then(() => image.naturalWidth)),
      60,
    );
    await page.keyboard.press('Escape');
    assert.ok(await page.isHidden('#viewer'));

    await page.click('#new-chat');
    await say(page, 'What is this?');
    await say(page, 'And now?');
    const unseen = await promptTokens(page);
    assert.ok(seen > unseen + 50, `with the picture ${seen} tokens were read, without it ${unseen}`);
  });
});

test('a message may be a picture alone; pasted text stays text', async () => {
  await withDemo(async (page) => {
    await give(page, 'drop', { 'one.png': SMALL_PICTURE });
    await expectAttached(page, 1);
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.setData('text/plain', 'words');
      data.items.add(new File(['…'], 'words.png', { type: 'image/png' }));
      const settings = { clipboardData: data, bubbles: true, cancelable: true };
      globalThis.taken = !document.querySelector('#prompt').dispatchEvent(new ClipboardEvent('paste', settings));
    });
    assert.equal(await page.evaluate(() => globalThis.taken), false);
    await page.focus('#prompt');
    await page.keyboard.press('Enter');
    await page.locator('.turn .picture').waitFor();
    await waitForState(page, ['ready']);
    assert.equal(await page.innerText('.chat-title'), 'One.png');
  });
});

test('a stored conversation keeps its pictures, and the model sees them again', async () => {
  await withDemo(async (page) => {
    await give(page, 'drop', { 'one.png': SMALL_PICTURE, 'two.png': OTHER_PICTURE });
    await expectAttached(page, 2);
    await say(page, 'What is this?');
    await say(page, 'And now?');
    const before = await promptTokens(page);
    const stored = await page.evaluate(() => JSON.stringify(localStorage).length);
    assert.ok(stored < 10_000, `${stored} characters in localStorage`);

    await page.goto(`${site.url}/`);
    await waitForState(page, ['ready']);
    const loaded = () => {
      const pictures = [...document.querySelectorAll('.message.user .picture img')];
      return pictures.length === 2 && pictures.every(({ naturalWidth }) => naturalWidth > 0);
    };
    await page.waitForFunction(loaded);
    await page.evaluate(() => {
      document.querySelector('#max-tokens').value = 8;
    });
    await say(page, 'And then?');
    await say(page, 'And then?');
    assert.ok((await promptTokens(page)) > before, 'the model has read the pictures and all that was said since');

    await page.click('#chats .delete');
    await page.click('#undo button');
    await page.click('.chat-open');
    await page.waitForFunction(loaded); // they come back with the conversation

    await page.evaluate(
      () =>
        new Promise((resolve, reject) => {
          const request = indexedDB.deleteDatabase('webgguf.demo');
          request.onsuccess = resolve;
          request.onerror = reject;
        }),
    );
    await page.goto(`${site.url}/`);
    await waitForState(page, ['ready']);
    await page.getByText('one.png is no longer here').waitFor();
    await say(page, 'And then?');
    assert.match(await page.innerText('.turn:last-child .meta'), /2 pictures were not seen/);

    await page.click('#forget');
    await page.click('#forget');
    const left = await page.evaluate(async () => {
      const { recallAttachments } = await import('./demo/attachment-store.js');
      return (await recallAttachments([{ id: 'x' }])).length + localStorage.length;
    });
    assert.equal(left, 1);
  });
});

test('pictures of no conversation are removed at a visit a day later', async () => {
  await withDemo(async (page) => {
    const left = await page.evaluate(async () => {
      const { dropUnused, keepAttachments, recallAttachments } = await import('./demo/attachment-store.js');
      const file = new Blob(['x']);
      const [used, fresh, old] = ['used', 'fresh', 'old'].map((id) => ({ id, file, thumbnail: file }));
      const now = Date.now;
      Date.now = () => now() - 25 * 60 * 60 * 1000;
      await keepAttachments([used, old]);
      Date.now = now;
      await keepAttachments([fresh]);
      await dropUnused(new Set(['used']));
      const found = await recallAttachments([{ id: 'used' }, { id: 'fresh' }, { id: 'old' }]);
      return found.map(({ file }) => file?.size);
    });
    assert.deepEqual(left, [1, 1, undefined]);
  });
});

test('a model without an encoder says so in one sentence, and the chat goes on', async () => {
  await withDemo(
    async (page) => {
      assert.ok(await page.isHidden('#add-files'));
      for (const type of ['drop', 'paste']) {
        await give(page, type, { 'one.png': SMALL_PICTURE });
        assert.match(await note(page), /^llama-bf16\.gguf cannot see pictures: it has no encoder of images\./);
        await screenshot(page, 'demo-images-blind');
        await page.click('#attach-note button');
        await page.locator('#catalogue').getByText('Sees pictures').first().waitFor();
        await page.keyboard.press('Escape');
        await page.evaluate(() => {
          document.querySelector('#attach-note').hidden = true;
        });
      }
      await send(page, 'Hello');
      await waitForState(page, ['ready']);
      assert.equal(await page.locator('.turn').count(), 1);
    },
    { query: `model=${SMALL}` },
  );
});

test('an encoder that is dropped goes with the model that is there', async () => {
  await withDemo(
    async (page) => {
      await give(page, 'drop', { 'mmproj-lfm2.gguf': picture('lfm2.gguf') });
      await page.waitForFunction(() => document.documentElement.hasAttribute('data-sees'));
      await waitForState(page, ['ready']);
      assert.equal(await page.innerText('#model-name'), 'lfm2-bf16.gguf');
      await give(page, 'drop', { 'one.png': SMALL_PICTURE });
      await expectAttached(page, 1);
    },
    { query: 'model=/fixtures/models/lfm2-bf16.gguf' },
  );
});

const BAD = [
  ['notes.txt', 'no picture', /^notes\.txt is no picture that this browser can show\.$/],
  ['broken.png', header(30, 30), /^broken\.png is damaged: it cannot be shown\.$/],
  ['empty.png', header(0, 0), /^empty\.png has 0 × 0 pixels: there is nothing to see\.$/],
  ['huge.png', header(30_000, 30_000), /^huge\.png has 30,000 × 30,000 pixels, .* may have 67,108,864\.$/],
];

test('each file that is no picture is named with its reason, and the chat stays usable', async () => {
  await withDemo(async (page) => {
    for (const [name, bytes, says] of BAD) {
      await give(page, 'drop', { [name]: bytes });
      await page.waitForFunction((text) => document.querySelector('#attach-note').innerText.startsWith(text), name);
      assert.match(await note(page), says);
    }
    await screenshot(page, 'demo-images-huge');
    await give(page, 'drop', { 'notes.txt': 'no picture', 'one.png': SMALL_PICTURE });
    await expectAttached(page, 1);
    assert.match(await note(page), /^notes\.txt is no picture/);
    await say(page, 'What is this?');
    assert.ok(await page.isHidden('#attach-note'));
    assert.equal(await page.locator('.turn .picture').count(), 1);
  });
});

test('pictures that do not fit the context come back with the message, and the chat goes on', async () => {
  await withDemo(
    async (page) => {
      await give(page, 'drop', { 'one.png': SMALL_PICTURE });
      await expectAttached(page, 1);
      await page.fill('#prompt', 'What is this?');
      await page.click('#send');
      await page.locator('#error:visible').waitFor();
      assert.match(
        await page.innerText('#error'),
        /too long for the model[^]*send fewer pictures or shorter sounds[^]*context_full/,
      );
      assert.equal(await page.inputValue('#prompt'), 'What is this?');
      assert.equal((await attached(page)).length, 1);
      assert.equal(await page.locator('.turn').count(), 0);
      await page.click('#attached .remove');
      await say(page, 'Hi');
      assert.equal(await page.locator('.turn').count(), 1);
    },
    { query: `${SEES}&context=40` },
  );
});

test('a picture is taken with the camera', async () => {
  await withDemo(
    async (page) => {
      await page.click('#open-camera');
      await page.waitForFunction(() => document.querySelector('#camera-video').videoWidth > 0);
      assert.equal(await page.evaluate(() => document.activeElement.id), 'camera-take');
      await screenshot(page, 'demo-images-camera');
      await page.click('#camera-take');
      await expectAttached(page, 1);
      assert.match((await attached(page))[0], /^Camera \d\d\.\d\d\.\d\d\.jpg, [\d,]+ × \d+ pixels$/);
      assert.ok(await page.isHidden('#camera'));
      await page.click('#open-camera');
      await page.locator('#camera:visible').waitFor();
      await page.keyboard.press('Escape');
      assert.ok(await page.isHidden('#camera'), 'Escape closes it');
      assert.equal(await page.evaluate(() => document.querySelector('#camera-video').srcObject), null);
    },
    { permissions: ['camera'] },
  );
});

test('a camera that is refused or missing is said, and the chat goes on', async () => {
  await withDemo(async (page) => {
    const problems = {
      NotAllowedError: /refused.*choose a picture/,
      NotFoundError: /no camera/,
      AbortError: /cannot be used/,
    };
    for (const [name, says] of Object.entries(problems)) {
      await page.evaluate((name) => {
        navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('why', name));
      }, name);
      await page.click('#open-camera');
      assert.match(await note(page), says);
    }
    await say(page, 'Hello');
  });
});

for (const { size, colorScheme } of LOOKS) {
  testIf(size === 'phone')(`pictures fit and axe finds nothing wrong: ${size}, ${colorScheme}`, async () => {
    await withDemo(
      async (page) => {
        const check = (what) => checkLook(page, `demo-images-${size}-${colorScheme}-${what}`);
        await check('welcome');
        await give(page, 'drop', { 'one.png': SMALL_PICTURE, 'two.png': OTHER_PICTURE, 'x.txt': 'x' });
        await expectAttached(page, 2);
        await note(page);
        await check('composer');
        await say(page, 'What is the difference?');
        await give(page, 'drop', { 'large.png': picture('picture-200x121.png') });
        await expectAttached(page, 1);
        await say(page, 'And this one?');
        await check('chat');
        await page.click('.picture >> nth=-1');
        await check('viewer');
        await page.keyboard.press('Escape');
        await page.click('#open-models');
        await page.locator('#catalogue .verdict[data-level]').last().waitFor();
        await check('models');
      },
      // The policy of the page forbids what axe-core needs.
      { colorScheme, viewport: SIZES[size], bypassCSP: true },
    );
  });
}
