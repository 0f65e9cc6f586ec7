/**
 * The script of a worker: one model, whose engine it has. `engine/in-worker.ts` starts it and calls it; as a
 * SharedWorker `shared/shared-worker.ts` does.
 */
import * as chatText from './engine/conversation-text.js';
import * as drafts from './engine/drafts.js';
import * as encodeParts from './engine/encode-parts.js';
import { files } from './engine/files.js';
import { later } from './engine/later.js';
import * as insert from './engine/insert.js';
import * as prefixes from './engine/prefixes.js';
import * as saved from './engine/saved.js';
import * as grammars from './engine/grammars.js';
import { serve } from './engine/worker-side.js';
import * as grammar from './grammar/webgguf_grammar.js';
import { startOwnScript } from './engine/thread-side.js';
import * as threads from './engine/threads.js';
import * as mediaFile from './load/media-file.js';
import * as parts from './load/parts.js';
import * as encoder from './media/encoders.js';
import * as imagePrompt from './media/prompt.js';
import * as video from './video/index.js';
import * as pictureKinds from './load/picture-kinds.js';
import * as transparent from './load/transparent.js';
import * as verified from './load/verified.js';
import * as host from './shared/host.js';
import { isShared, serveTabs } from './shared/tabs-worker.js';
import * as rareTemplates from './templates/rare.js';
import * as hear from './voice/hear.js';
import * as vocoder from './voice/vocoder.js';
import * as device from './wasm/device.js';
import * as encoders from './wasm/encoders.js';
import * as families from './wasm/families.js';
import * as rare from './wasm/rare.js';
import * as tuning from './tuning/index.js';

// As modules of this script, rather than files that it fetches.
Object.assign(files, {
  startWorker: startOwnScript,
  device: async () => device,
  encoders: async () => encoders,
  families: async () => families,
  grammar: async () => grammar,
  rare: async () => rare,
  mediaFile: async () => mediaFile,
  parts: async () => parts,
  pictureKinds: async () => pictureKinds,
  rareTemplates: async () => rareTemplates,
  transparent: async () => transparent,
  verified: async () => verified,
  video: async () => video,
} satisfies Omit<typeof files, 'preload'>);
Object.assign(later, {
  chatText: async () => chatText,
  drafts: async () => drafts,
  encodeParts: async () => encodeParts,
  encoder: async () => encoder,
  grammars: async () => grammars,
  hear: async () => hear,
  host: async () => host,
  imagePrompt: async () => imagePrompt,
  insert: async () => insert,
  prefixes: async () => prefixes,
  saved: async () => saved,
  threads: async () => threads,
  tuning: async () => tuning,
  vocoder: async () => vocoder,
} satisfies typeof later);
const scope: object = globalThis;
if (isShared(scope)) serveTabs(scope);
else serve(scope as DedicatedWorker);

/** What this script needs of its global scope; the types of pages do not have it. */
interface DedicatedWorker {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
}
