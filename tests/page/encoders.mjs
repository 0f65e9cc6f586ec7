// Prompts with images and sounds on the GPU, for tests in pages: a model and its encoder are loaded once for all of
// them. Where all models of a file are on the device of one `Gpu`, what equal kernels need is compiled once.

/** Opens the page in which the models are. */
export async function openEncoders(site) {
  const page = await site.open('/blank');
  await page.evaluate(async () => {
    const { Gpu, WasmModel } = await import('/dist/index.js');
    const gpu = await Gpu.create();
    /** As www/answers/evaluate.js: what becomes of each prompt, and 8 tokens after it where `predicts` says so. */
    globalThis.ask = async (url, mmproj, prompts) => {
      const model = await WasmModel.load(url, { backend: 'webgpu', gpu, mmproj, cache: false });
      const answers = [];
      for (const { parts, predicts } of prompts) {
        const { ids, media, positions } = await model.encodeParts(parts);
        const answer = {
          media: media.map(({ rows, embeddings }) => ({ rows, embeddings: embeddings.map((row) => [...row]) })),
        };
        answers.push(Object.assign(answer, { promptPositions: positions, info: model.info }));
        if (!predicts) continue;
        const options = { maxTokens: 8, temperature: 0, ignoreEos: true, logprobs: 0 };
        const run = model.generate(ids, options);
        answer.generatedLogprobs = [];
        for await (const { tokens = [] } of run) answer.generatedLogprobs.push(...tokens.map(({ logprob }) => logprob));
        answer.generated = [...(await run.result).ids];
      }
      await model.free();
      return answers;
    };
  });
  return page;
}

/** What becomes of `prompts` of `{ parts, predicts }`, in a page of {@link openEncoders}. */
export const askEncoders = (page, ...asked) => page.evaluate((all) => globalThis.ask(...all), asked);
