// Sources and options that components write anew at each render: `useModel` must not load for ever.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, dist } from './api.mjs';

const { keyOf, shapeOf } = await import(`${dist}ui/shared-models.js`);
const source = await fs('react/use-model.js');

/** `use-model.js` with React replaced by nothing: its hook is for browsers, its key is not. */
async function fs(name) {
  const { readFile } = await import('node:fs/promises');
  const text = await readFile(new URL(`${dist}${name}`), 'utf8');
  const code = text.replace(
    /import\s*\{[^}]*\}\s*from\s*['"]react['"];?/,
    'const useCallback=0,useState=0,useSyncExternalStore=0;',
  );
  const at = code.replaceAll(/from\s*(['"])\.\.\/ui\/shared-models\.js\1/g, `from '${dist}ui/shared-models.js'`);
  return import(`data:text/javascript,${encodeURIComponent(at)}`);
}
const { StableKey } = source;

const bytes = () => Uint8Array.of(1);
/** Each option that is an object, made anew at each call; and each kind of source. */
const EQUAL = {
  'headers in a request': () => [new Request('http://x/m.gguf', { headers: { a: 'b' } }), {}],
  'a URL': () => [new URL('http://x/m.gguf'), {}],
  'a list of files': () => [['/a.gguf', new URL('http://x/b.gguf')], {}],
  adapters: () => ['/m.gguf', { adapters: [{ source: '/a.gguf', scale: 0.5, config: '/c.json' }] }],
  'an adapter whose source is an object': () => ['/m.gguf', { adapters: [{ source: new URL('http://x/a.gguf') }] }],
  digests: () => ['/m.gguf', { sha256: ['00', '11'] }],
  draft: () => ['/m.gguf', { draft: new URL('http://x/d.gguf') }],
  mmproj: () => ['/m.gguf', { mmproj: new Request('http://x/p.gguf') }],
  resize: () => ['/m.gguf', { resize: { width: 1, height: 2 } }],
  'callbacks, and options in another order': (turn) => [
    '/m.gguf',
    turn ? { worker: true, cache: false, onWarning: () => {} } : { cache: false, worker: true, onWarning: () => 1 },
  ],
  'undefined among options': (turn) => ['/m.gguf', turn ? { precision: undefined } : {}],
};

for (const [what, make] of Object.entries(EQUAL)) {
  test(`${what}: written anew, it is the same model`, () => {
    assert.equal(keyOf(...make(0)), keyOf(...make(1)));
  });
}

const OTHERS = {
  'another header': (turn) => [new Request('http://x/m.gguf', { headers: { a: String(turn) } }), {}],
  'another scale': (turn) => ['/m.gguf', { adapters: [{ source: '/a.gguf', scale: turn }] }],
  'another file': (turn) => [[`/${turn}.gguf`], {}],
  'a file of the same name': () => [new File([bytes()], 'm.gguf'), {}],
  'a field in another object': (turn) => ['/m.gguf', turn ? { draft: { size: 1 } } : { draft: { size: 2 } }],
};

for (const [what, make] of Object.entries(OTHERS)) {
  test(`${what} is another model`, () => {
    assert.notEqual(keyOf(...make(0)), keyOf(...make(1)));
  });
}

const INLINE = {
  'a buffer': () => [bytes(), {}],
  'a promise': () => [Promise.resolve('/m.gguf'), {}],
  'a ranged source': () => [{ size: 1, read: bytes }, {}],
  'a ranged source with a function of its own': () => [{ size: 1, read: () => bytes() }, {}],
  'a blob': () => [new Blob([bytes()]), {}],
  'a draft in a buffer': () => ['/m.gguf', { draft: bytes() }],
  'an adapter in a buffer': () => ['/m.gguf', { adapters: [{ source: bytes() }] }],
};

for (const [what, make] of Object.entries(INLINE)) {
  test(`${what} in the code of a component: what reports of its load render is the same model`, () => {
    const stable = new StableKey();
    const first = stable.of(keyOf(...make()));
    for (let report = 0; report < 5; report += 1) {
      stable.told();
      assert.equal(stable.of(keyOf(...make())), first);
    }
    assert.equal(stable.of(keyOf(...make())), first, 'and what the page renders later, too');
    const other = keyOf('/other.gguf', {});
    assert.equal(stable.of(other), other);
  });
}

test('another file that a user chooses is another model', () => {
  const stable = new StableKey();
  stable.of(keyOf(new Blob([bytes()]), {}));
  stable.told();
  const [first, second] = [new Blob([bytes()]), new Blob([bytes()])];
  const kept = new StableKey();
  const key = keyOf(first, {});
  for (let render = 0; render < 3; render += 1) {
    assert.equal(kept.of(keyOf(first, {})), key);
    kept.told();
    assert.equal(kept.of(keyOf(first, {})), key);
  }
  assert.equal(kept.of(keyOf(second, {})), keyOf(second, {}));
  assert.equal(shapeOf(keyOf(first, {})), shapeOf(keyOf(second, {})));
  assert.ok(api);
});
