// A server of one file that gives ranges of it, does what a test plans, and remembers what it was asked.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, beforeEach } from 'node:test';
import { installStorage } from './fake_opfs.mjs';

/**
 * Serves `bytes` at `url`. `reset` gives a new plan: `asked` has a `{ from, until, isPart, request, headers }` of each
 * request; `answer(about, response)` may take an answer over and returns whether it did; `noRanges`, `etag`, `nameless`
 * (no ETag) and `stopAt` (a byte after which nothing more comes) say what the server does itself. `unfinished` has the
 * answers that are open.
 */
export async function rangedServer(bytes) {
  const served = { unfinished: new Set(), plan: undefined };
  served.reset = () => (served.plan = { asked: [] });
  const server = http.createServer((request, response) => {
    const { plan } = served;
    const [, from, to] = /bytes=(\d+)-(\d+)?/.exec(request.headers.range ?? '') ?? [];
    const about = { from: Number(from ?? 0), until: to === undefined ? bytes.length : Number(to) + 1, request };
    about.isPart = to !== undefined;
    plan.asked.push(about);
    served.unfinished.add(response.on('close', () => served.unfinished.delete(response)));
    about.headers = { 'content-length': about.until - about.from };
    if (!plan.nameless) about.headers.etag = plan.etag ?? '"one"';
    if (plan.answer?.(about, response)) return;
    const { 'if-range': condition } = request.headers;
    if (plan.noRanges || (condition && condition !== about.headers.etag)) {
      response.writeHead(200, { ...about.headers, 'content-length': bytes.length });
      return void send(response, bytes, 0, bytes.length, plan.stopAt);
    }
    about.headers['content-range'] = `bytes ${about.from}-${about.until - 1}/${bytes.length}`;
    response.writeHead(206, about.headers);
    send(response, bytes, about.from, about.until, plan.stopAt);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  served.url = `http://127.0.0.1:${server.address().port}/model.gguf`;
  served.close = () => {
    server.close();
    server.closeAllConnections();
  };
  return served;
}

/** Serves `bytes` while the tests of a file run, each with a new plan and an empty private file system. */
export async function serveForTests(bytes) {
  const server = await rangedServer(bytes);
  after(() => server.close());
  beforeEach(() => {
    server.reset();
    installStorage();
  });
  return server;
}

function send(response, bytes, from, until, stopAt = Infinity) {
  if (until <= stopAt) return response.end(bytes.subarray(from, until));
  return response.write(bytes.subarray(from, Math.max(from, stopAt)));
}

/** Waits for what another end of a connection has to notice; fails where it does not come. */
export async function until(what, isSo) {
  for (let wait = 0; wait < 6000 && !(await isSo()); wait += 1) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(await isSo(), what);
}
