/**
 * webgguf/preload.js: all scripts that `webgguf` else loads when they are first needed, for service workers, which may
 * not load any later, and for pages that go on without a network: `init({ preload: true })` loads this file and both
 * further WebAssembly files.
 *
 * @example
 * // in a service worker
 * import { WasmModel } from 'webgguf';
 * import 'webgguf/preload.js';
 *
 * @module webgguf/preload
 */
import * as decisions from './decide/decisions.js';
import * as decide from './decide/index.js';
import * as templates from './engine/chat-text.js';
import * as chatText from './engine/conversation-text.js';
import * as drafts from './engine/drafts.js';
import * as encodeParts from './engine/encode-parts.js';
import * as inWorker from './engine/in-worker.js';
import * as grammars from './engine/grammars.js';
import { files } from './engine/files.js';
import { later } from './engine/later.js';
import * as insert from './engine/insert.js';
import * as prefixes from './engine/prefixes.js';
import * as saved from './engine/saved.js';
import * as threads from './engine/threads.js';
import * as grammar from './grammar/webgguf_grammar.js';
import * as adapter from './load/adapter.js';
import * as advice from './load/advice.js';
import * as inspect from './load/inspect.js';
import * as inspectDraft from './load/inspect-draft.js';
import * as inspectEncoder from './load/inspect-encoder.js';
import * as mediaFile from './load/media-file.js';
import { pageFiles } from './load/page-files.js';
import * as parts from './load/parts.js';
import * as peft from './load/peft.js';
import * as pictureKinds from './load/picture-kinds.js';
import * as transparent from './load/transparent.js';
import * as verified from './load/verified.js';
import * as video from './video/index.js';
import * as encoder from './media/encoders.js';
import { mediaModule } from './media/module.js';
import * as imagePrompt from './media/prompt.js';
import * as samples from './media/samples.js';
import * as messages from './model/media-messages.js';
import { onDemand } from './model/on-demand.js';
import * as budget from './openai/budget.js';
import * as callGrammar from './openai/call-grammar.js';
import * as completions from './openai/completions.js';
import * as embedContents from './model/embed-contents.js';
import * as embeddings from './openai/embeddings.js';
import * as families from './openai/families.js';
import { openaiFiles } from './openai/files.js';
import * as responsesHttp from './openai/responses/http.js';
import * as chatItems from './openai/responses/chat-items.js';
import * as responses from './openai/responses/responses.js';
import * as runTools from './openai/run-tools.js';
import * as signs from './openai/signs.js';
import * as speech from './openai/speech.js';
import * as textCompletions from './openai/text-completions.js';
import * as timed from './openai/timed.js';
import * as transcriptions from './openai/transcriptions.js';
import * as shared from './shared/engine.js';
import * as host from './shared/host.js';
import * as rareTemplates from './templates/rare.js';
import * as tuning from './tuning/index.js';
import * as converse from './voice/converse.js';
import * as hear from './voice/hear.js';
import * as heard from './voice/heard.js';
import * as voice from './voice/speak.js';
import * as vocoder from './voice/vocoder.js';
import * as device from './wasm/device.js';
import * as encoderCode from './wasm/encoders.js';
import * as familyCode from './wasm/families.js';
import * as rare from './wasm/rare.js';
import * as worker from './worker-start.js';

/** Functions that give what is here already. */
function having<T extends object>(modules: T): { [K in keyof T]: () => Promise<T[K]> } {
  const entries = Object.entries(modules).map(([name, module]) => [name, async () => module]);
  return Object.fromEntries(entries) as { [K in keyof T]: () => Promise<T[K]> };
}

/** Starts the WebAssembly for grammars, and that for images and sounds. @internal */
export async function preload(): Promise<void> {
  await Promise.all([grammars.grammarModule(), mediaModule()]);
}

const ofSources: Omit<typeof files, 'startWorker' | 'preload'> = having({
  ...{ device, grammar, mediaFile, parts, pictureKinds, rare, rareTemplates, transparent },
  ...{ encoders: encoderCode, families: familyCode, verified, video },
});
const ofEngine: typeof later = having({
  chatText,
  drafts,
  encodeParts,
  encoder,
  grammars,
  hear,
  host,
  imagePrompt,
  insert,
  prefixes,
  saved,
  threads,
  tuning,
  vocoder,
});
const ofPage: typeof onDemand = having({
  ...{
    adapter,
    budget,
    completions,
    embedContents,
    embeddings,
    families,
    inWorker,
    inspect,
    messages,
    preload: { preload },
    runTools,
    shared,
    signs,
  },
  ...{ converse, templates, transcriptions, voice, worker },
});
const ofPageFiles: typeof pageFiles = having({ advice, callGrammar, inspectDraft, inspectEncoder, peft, samples });
const ofOpenai: typeof openaiFiles = having({
  ...{ chatItems, decide, decisions, responses, responsesHttp, heard, speech, textCompletions, timed },
});
Object.assign(files, ofSources);
Object.assign(later, ofEngine);
Object.assign(onDemand, ofPage);
Object.assign(pageFiles, ofPageFiles);
Object.assign(openaiFiles, ofOpenai);
