// Files of js/ that reach each other by imports can be read only together: at most three. Imports of types count, too.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { circlesIn, importsOf, scripts } from './circles.mjs';

const MOST = 3;

/** The circles of files with these texts. */
const circlesOf = (texts) => circlesIn(importsOf(new Map(Object.entries(texts))));

test('no more than three files of js/ import each other', () => {
  const files = scripts();
  assert.ok(files.size > 200, 'files');
  const graph = importsOf(files);
  assert.ok(graph.get('js/index.ts').includes('js/model/model.ts'), 'imports');
  assert.deepEqual(
    circlesIn(graph).filter((circle) => circle.length > MOST),
    [],
  );
});

test('circles of all kinds of imports are found', () => {
  const texts = {
    'js/a.ts': "import {\n  b,\n} from './b.js';",
    'js/b.ts': "import type { C } from './deep/c.js';",
    'js/deep/c.ts': "export const d = () => import('../d.js');",
    'js/d.ts': "type E = import('./e.js').E;",
    'js/e.d.ts': "export * from './a.js';",
    'js/f.ts': "import './a.js';\n// import './g.js'\n/* import './g.js' */",
    'js/g.ts': "import { f } from './f.js';",
  };
  assert.deepEqual(circlesOf(texts), [['js/a.ts', 'js/b.ts', 'js/d.ts', 'js/deep/c.ts', 'js/e.d.ts']]);
  assert.deepEqual(circlesOf({ ...texts, 'js/d.ts': '' }), []);
});
