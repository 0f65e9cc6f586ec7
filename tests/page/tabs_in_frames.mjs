// Frames of one page as tabs that share a model: for browsers that are told to open one page.

/**
 * Runs in a page: two frames write with one engine, the frame that has it is removed, and the other one goes on.
 * @returns {Promise<object>} the texts, how many engines there were, and the code with which an answer ended
 */
export async function tabsInFrames(url) {
  const open = async () => {
    const frame = document.body.appendChild(document.createElement('iframe'));
    frame.src = location.href;
    await new Promise((loaded) => frame.addEventListener('load', loaded, { once: true }));
    const script = frame.contentDocument.createElement('script');
    script.type = 'module';
    script.textContent = `import { WasmModel } from '/dist/index.js';
      const given = { backend: 'cpu', contextLength: 512, shared: true };
      window.loaded = WasmModel.load(${JSON.stringify(url)}, given);
      window.dispatchEvent(new Event('begun'));`;
    const begun = new Promise((heard) => frame.contentWindow.addEventListener('begun', heard, { once: true }));
    frame.contentDocument.head.append(script);
    await begun;
    return { frame, model: await frame.contentWindow.loaded };
  };
  const engines = async () => {
    const { held } = await navigator.locks.query();
    return held.filter(({ name }) => name.startsWith('webgguf worker')).length;
  };
  const write = ({ model }, maxTokens = 12) =>
    model.generate('Once upon a time', { maxTokens, temperature: 0, ignoreEos: true });
  const [first, second] = [await open(), await open()];
  const texts = await Promise.all([first, second].map(async (tab) => (await write(tab)).text));
  const before = await engines();
  const long = write(second, 480);
  await long.next();
  first.frame.remove();
  const code = await long.result.then(
    () => 'no error',
    (error) => error.code,
  );
  texts.push((await write(second)).text);
  return { texts, engines: [before, await engines()], code };
}
