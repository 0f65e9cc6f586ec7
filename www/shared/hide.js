// `?hide=NAME,…` of the test pages: what a page keeps from the engine of what its browser has, so that one device can
// be measured as others are. Names of WebGPU features and of WGSL language features that it takes:
// `chromium-experimental-subgroup-matrix`, `shader-f16`, `subgroups`, `packed_4x8_integer_dot_product`; and `vendor`,
// so that the GPU is one that nobody has measured.

import { wrong } from './address.js';

const NAMES = [
  'chromium-experimental-subgroup-matrix',
  'packed_4x8_integer_dot_product',
  'shader-f16',
  'subgroups',
  'timestamp-query',
  'vendor',
];

/** The names that an address asks to hide. */
export function hiddenNames(query) {
  const names = (query.get('hide') ?? '').split(',').map((name) => name.trim());
  const unknown = names.find((name) => name && !NAMES.includes(name));
  if (unknown) throw wrong(`'hide' has '${unknown}', not one of ${NAMES.join(', ')}`);
  return names.filter(Boolean);
}

/** Hides features from whoever asks on this page from now on; workers still see them. */
export function hide(names, { GPUSupportedFeatures, WGSLLanguageFeatures, GPUAdapterInfo } = globalThis) {
  if (names.length === 0) return;
  for (const { prototype } of [GPUSupportedFeatures, WGSLLanguageFeatures].filter(Boolean)) {
    const { has } = prototype;
    prototype.has = function (name) {
      return !names.includes(name) && has.call(this, name);
    };
  }
  if (names.includes('vendor') && GPUAdapterInfo) {
    Object.defineProperty(GPUAdapterInfo.prototype, 'vendor', { get: () => '' });
  }
}
