// Adapters of tabs that share an engine: each file is there once, as long as a tab has it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dist, withCode } from './api.mjs';

const { HostAdapters } = await import(`${dist}shared/host-adapters.js`);
const { TabAdapters } = await import(`${dist}shared/adapters.js`);

/** An engine that notes what it is asked for. */
function engine() {
  const asked = [];
  let count = 0;
  return {
    asked,
    addAdapter: async (file, scale) => {
      asked.push(['add', ...file, scale]);
      if (file[0] === 0) throw new Error('no adapter');
      return (count += 1);
    },
    removeAdapter: async (number) => asked.push(['remove', number]),
  };
}

/** A connection of a tab to the adapters of all. */
const linkTo = (host, user = {}) => ({
  user,
  addAdapter: (file, key) => host.add(user, file, key),
  removeAdapter: (key) => host.remove(user, key),
});

async function add(tab, link, bytes, scale = 1) {
  const adapter = await tab.of(Uint8Array.from(bytes), scale);
  await tab.add(link, adapter);
  return adapter;
}

test('a file of two tabs is added once, with a scale of zero, and goes with the last of them', async () => {
  const root = engine();
  const host = new HostAdapters(root);
  const tabs = [new TabAdapters(), new TabAdapters()];
  const links = [linkTo(host), linkTo(host)];
  await add(tabs[0], links[0], [7]);
  const other = await add(tabs[1], links[1], [8]);
  const same = await add(tabs[1], links[1], [7], 0.5);
  assert.deepEqual([other.id, same.id], [1, 2]);
  assert.deepEqual(root.asked.splice(0), [
    ['add', 7, 0],
    ['add', 8, 0],
  ]);
  assert.deepEqual(await tabs[0].numbered(links[0], undefined), { adapters: [[1, 1]] });
  const loaded = [
    [2, 1],
    [1, 0.5],
  ];
  assert.deepEqual(await tabs[1].numbered(links[1], undefined), { adapters: loaded });
  await host.leave(links[0].user);
  assert.deepEqual(root.asked, []);
  assert.deepEqual([host.isUsedBy(links[0].user), host.isUsedBy(links[1].user)], [false, true]);
  await links[1].removeAdapter(tabs[1].forget(2).key);
  assert.deepEqual(root.asked.splice(0), [['remove', 1]]);
  await host.leave(links[1].user);
  assert.deepEqual(root.asked, [['remove', 2]]);
});

test('one file twice in a tab is two adapters, as without shared', async () => {
  const root = engine();
  const host = new HostAdapters(root);
  const [tab, link] = [new TabAdapters(), linkTo(host)];
  for (const scale of [1, 2]) await add(tab, link, [7], scale);
  const numbers = [
    [1, 1],
    [2, 2],
  ];
  assert.deepEqual(await tab.numbered(link, undefined), { adapters: numbers });
  await link.removeAdapter(tab.forget(1).key);
  await add(tab, link, [7], 3);
  assert.deepEqual(await tab.numbered(link, undefined), {
    adapters: [
      [2, 2],
      [3, 3],
    ],
  });
});

test('what a request names is checked by the numbers of its tab', async () => {
  const host = new HostAdapters(engine());
  const [tab, link] = [new TabAdapters(), linkTo(host)];
  assert.deepEqual(await tab.numbered(link, undefined), {});
  assert.deepEqual(await tab.numbered(link, []), { adapters: [] });
  await add(new TabAdapters(), linkTo(host), [9]);
  await assert.rejects(tab.numbered(link, [[1, 1]]), withCode('invalid_argument', /no adapter 1$/));
  await add(tab, link, [7], 0);
  assert.deepEqual(await tab.numbered(link, undefined), {}, 'a scale of its own is none');
  assert.deepEqual(await tab.numbered(link, [[1, 3]]), { adapters: [[2, 3]] });
  const twice = [
    [1, 1],
    [1, 2],
  ];
  await assert.rejects(tab.numbered(link, twice), withCode('invalid_argument', /adapter 1 occurs twice/));
});

test('in a new engine they are added again, those that were removed are not', async () => {
  const tab = new TabAdapters();
  const first = linkTo(new HostAdapters(engine()));
  for (const byte of [5, 6, 7]) await add(tab, first, [byte]);
  tab.forget(1);
  const root = engine();
  const second = linkTo(new HostAdapters(root));
  await Promise.all([tab.on(second), tab.on(second)]);
  assert.deepEqual(root.asked, [
    ['add', 6, 0],
    ['add', 7, 0],
  ]);
  assert.deepEqual(await tab.numbered(second, undefined), {
    adapters: [
      [1, 1],
      [2, 1],
    ],
  });
});

test('what the engine refuses is no adapter, and a new engine that refuses is asked again', async () => {
  const [tab, host] = [new TabAdapters(), new HostAdapters(engine())];
  const link = linkTo(host);
  await assert.rejects(add(tab, link, [0]), /no adapter/);
  assert.deepEqual(await tab.numbered(link, undefined), {});
  assert.equal(host.isUsedBy(link.user), false);
  await add(tab, link, [7]);
  let fails = true;
  const later = {
    addAdapter: async () => {
      if (fails) throw new Error('out of memory');
      return 4;
    },
  };
  await assert.rejects(tab.on(later), /out of memory/);
  fails = false;
  assert.deepEqual(await tab.numbered(later, undefined), { adapters: [[4, 1]] });
});
