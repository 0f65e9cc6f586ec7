// WebGPU in Node.js and Bun, by npm's `webgpu`.

import { create, globals } from 'webgpu';

globalThis.navigator ??= {}; // Node.js 20 has none
Object.assign(globalThis, globals);
Object.assign(navigator, { gpu: create([]) });
