import { WasmModel } from 'webgguf';

const address = new URLSearchParams(location.search);

/** A small model that a page has beside it: the address and the words of `<meta name="small-model">`. */
function beside() {
  const meta = document.querySelector('meta[name="small-model"]');
  return meta && { source: new URL(meta.content, location.href).href, words: meta.dataset.words };
}

/**
 * The models that a visitor may choose: the one of the page's address (`?model=/models/mine.gguf`), else the small one
 * that the page has beside it, where it has one, and the `usual` one. The first is the one to begin with. `words` are
 * name and size; nothing where the address names the model.
 *
 * @param {{source: string, words: string}} usual a GGUF file, and its name and size
 * @param {{isSmallEnough?: boolean}} [options] `false` where the small one cannot do what the page shows
 */
export function modelsFor(usual, { isSmallEnough = true } = {}) {
  const asked = address.get('model');
  if (asked) return [{ source: asked, words: '' }];
  const small = isSmallEnough ? beside() : undefined;
  return small ? [small, usual] : [usual];
}

/** What a button says that downloads a model once it is pressed. */
export const downloading = (verb, words) => (words ? `${verb} (downloads ${words})` : verb);

/**
 * Fills a menu with models; where there is one alone, its name stands in place of the menu. Gives a function that says
 * which is chosen.
 */
export function chooser(menu, models) {
  menu.replaceChildren(...models.map(({ source, words }) => new Option(words || source)));
  if (models.length === 1) menu.replaceWith(menu.options[0].text);
  return () => models[Math.max(0, menu.selectedIndex)].source;
}

/** What a model takes of the GPU's memory, in words. */
export function memoryOf(model) {
  return model.hasGpu() ? `takes ${Math.round(model.info.gpuBytes / 1e6)} MB on the GPU` : 'runs on the CPU';
}

/**
 * Gives a function that calls another one with the model of `source`, or of what `source()` says. The first call loads
 * it in a worker, and `status` shows how far that is; `options` are further ones of `WasmModel.load`,
 * or a function that gives them. After a load that
 * failed, where the GPU or the worker was lost, or with another source, the next call loads again.
 */
export function modelOf(source, status, options = {}) {
  let loading;
  let loaded;
  const onProgress = ({ stage, fraction = 0 }) => {
    status.textContent = `${stage} ${Math.round(fraction * 100)} %`;
  };
  const free = async () => {
    const old = await loading?.catch(() => undefined);
    loading = undefined;
    await old?.free(); // before there is another one
  };
  return async (use) => {
    const wanted = typeof source === 'function' ? source() : source;
    if (wanted !== loaded) await free();
    loaded = wanted;
    const further = typeof options === 'function' ? options() : options;
    loading ??= WasmModel.load(wanted, { worker: true, onProgress, ...further });
    const model = await loading.catch((failure) => {
      loading = undefined;
      throw failure;
    });
    try {
      return await use(model);
    } catch (failure) {
      if (['device_lost', 'worker_lost'].includes(failure.code)) await free();
      throw failure;
    }
  };
}
