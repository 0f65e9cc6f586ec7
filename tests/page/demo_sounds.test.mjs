// Sounds on the demo page as a person gives them: dropped, chosen, recorded; what the page keeps of them, and what it
// says where there is nothing to hear.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { FAKE_CAMERA } from '../../tools/browser.mjs';
import { say, waitForState } from '../../tools/demo.mjs';
import { ENCODERS } from '../js/encoders.mjs';
import { longTest, testIf } from '../long.mjs';
import { checkLook, demoWith, give, LOOKS, note, SIZES } from './demo_attachments.mjs';
import { openSite, SMALL } from './site.mjs';

const site = await openSite({ args: FAKE_CAMERA });
const withDemo = demoWith(site, 'model=/fixtures/models/llama-f32.gguf&mmproj=/fixtures/encoders/ultravox.gguf');
const sound = (name) => fs.readFileSync(path.join(ENCODERS, name));
const SHORT = sound('sound-8219.wav');
const LONG = sound('sound-30011.wav');

const attached = (page) => page.locator('#attached .sound-tile').evaluateAll((all) => all.map(({ title }) => title));
const expectAttached = (page, count) =>
  page.waitForFunction((wanted) => document.querySelectorAll('#attached .sound-tile').length === wanted, count);
/** Tokens that the model had to read for the last answer. */
const promptTokens = async (page) =>
  Number(/of (\d+) prompt tokens/.exec(await page.innerText('.turn:last-child .meta'))?.[1] ?? 0);

test('sounds are dropped and chosen, removed, heard by the model, and played', async () => {
  await withDemo(async (page) => {
    assert.match(await page.innerText('#welcome-text'), /hears: speak, or drop or choose a sound/);
    assert.match(await page.innerText('#facts'), /Hears\s+sounds/);
    assert.ok(await page.isHidden('#open-camera'));
    assert.equal(await page.getAttribute('#add-files', 'aria-label'), 'Add sounds');
    await give(page, 'drop', { 'one.wav': SHORT, 'two.wav': LONG });
    await expectAttached(page, 2);
    await page.setInputFiles('#files', path.join(ENCODERS, 'sound-8219.wav'));
    await expectAttached(page, 3);
    assert.deepEqual(await attached(page), ['one.wav, 0:01', 'two.wav, 0:02', 'sound-8219.wav, 0:01']);
    for (const name of ['two.wav', 'sound-8219.wav']) {
      await page.getByRole('button', { name: `Remove ${name}` }).click();
    }
    await say(page, 'What is said?');
    await expectAttached(page, 0);
    await say(page, 'And now?');
    const heard = await promptTokens(page);
    const played = page.locator('.message.user audio');
    assert.equal(await played.getAttribute('aria-label'), 'one.wav, 0:01');
    await page.waitForFunction(() => document.querySelector('.message.user audio').duration > 0);

    await page.click('#new-chat');
    await say(page, 'What is said?');
    await say(page, 'And now?');
    const unheard = await promptTokens(page);
    assert.ok(heard > unheard + 4, `with the sound ${heard} tokens were read, without it ${unheard}`);
  });
});

longTest('a stored conversation keeps its sounds, and says which are gone', async () => {
  await withDemo(async (page) => {
    await give(page, 'drop', { 'one.wav': SHORT });
    await expectAttached(page, 1);
    await page.focus('#prompt');
    await page.keyboard.press('Enter');
    await page.locator('.turn audio').waitFor();
    await waitForState(page, ['ready']);
    assert.equal(await page.innerText('.chat-title'), 'One.wav');
    await page.goto(`${site.url}/`);
    await waitForState(page, ['ready']);
    await page.waitForFunction(() => document.querySelector('.message.user audio')?.duration > 0);
    await page.evaluate(() => indexedDB.deleteDatabase('webgguf.demo'));
    await page.goto(`${site.url}/`);
    await waitForState(page, ['ready']);
    await page.getByText('one.wav is no longer here').waitFor();
    await page.evaluate(() => {
      document.querySelector('#max-tokens').value = 8;
    });
    await say(page, 'And then?');
    assert.match(await page.innerText('.turn:last-child .meta'), /a sound was not heard/);
  });
});

test('a sound is recorded with the microphone', async () => {
  await withDemo(
    async (page) => {
      await page.click('#open-microphone');
      await page.locator('#microphone:visible').waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.id), 'microphone-done');
      await page.waitForFunction(() => document.querySelector('#microphone-time').textContent.startsWith('0:01'));
      await page.click('#microphone-done');
      await expectAttached(page, 1);
      assert.match((await attached(page))[0], /^Recording \d\d\.\d\d\.\d\d\.weba, 0:0\d$/);
      assert.ok(await page.isHidden('#microphone'));
      await page.click('#open-microphone');
      await page.locator('#microphone:visible').waitFor();
      await page.keyboard.press('Escape');
      assert.ok(await page.isHidden('#microphone'), 'Escape closes it');
      assert.equal((await attached(page)).length, 1, 'and nothing of it is kept');
      await say(page, 'What is said?');
      assert.equal(await page.locator('.turn audio').count(), 1);
    },
    { permissions: ['microphone'] },
  );
});

test('a microphone that is refused, a file that is no sound, a model that hears nothing: each is said', async () => {
  await withDemo(async (page) => {
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('why', 'NotAllowedError'));
    });
    await page.click('#open-microphone');
    assert.match(await note(page), /^The microphone was refused\..*choose a sound/);
    await give(page, 'drop', { 'broken.wav': 'no sound' });
    await page.waitForFunction(() => document.querySelector('#attach-note').innerText.startsWith('broken.wav'));
    assert.equal(await note(page), 'broken.wav is no sound that this browser can play.');
    await give(page, 'drop', { 'one.png': 'x' });
    await page.waitForFunction(() => /cannot see/.test(document.querySelector('#attach-note').innerText));
    await say(page, 'Hello');
  });
  await withDemo(
    async (page) => {
      assert.ok(await page.isHidden('#open-microphone'));
      assert.ok(await page.isHidden('#add-files'));
      await give(page, 'drop', { 'one.wav': SHORT });
      assert.match(await note(page), /^llama-bf16\.gguf cannot hear sounds: it has no encoder of sounds\./);
      await page.click('#attach-note button');
      await page.locator('#catalogue').getByText('Hears speech').first().waitFor();
    },
    { query: `model=${SMALL}` },
  );
});

for (const { size, colorScheme } of LOOKS) {
  testIf(size === 'phone')(`sounds fit and axe finds nothing wrong: ${size}, ${colorScheme}`, async () => {
    await withDemo(
      async (page) => {
        const check = (what) => checkLook(page, `demo-sounds-${size}-${colorScheme}-${what}`);
        await page.click('#open-microphone');
        await page.waitForFunction(() => document.querySelector('#microphone-time').textContent.startsWith('0:02'));
        await check('microphone');
        await page.click('#microphone-done');
        await give(page, 'drop', { 'a rather long name of a recording.wav': LONG });
        await expectAttached(page, 2);
        await check('composer');
        await page.click('#attached .remove'); // two sounds do not fit the small model's context
        await say(page, 'What is said?');
        await check('chat');
      },
      // The policy of the page forbids what axe-core needs.
      { colorScheme, viewport: SIZES[size], bypassCSP: true, permissions: ['microphone'] },
    );
  });
}
