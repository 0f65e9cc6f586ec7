// Every kind of source gives the same bytes; what goes wrong is said with both numbers.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { api, isAbort, openSources, readAll, testBytes, withCode } from './api.mjs';

const BYTES = testBytes((9 << 20) + 13);
const never = new AbortController().signal;

const open = async (source, signal = never, options = {}) => openSources(source, signal, { cache: false, ...options });
const readOne = async (source, signal, options) => readAll((await open(source, signal, options))[0]);

function streamOf(bytes, chunk) {
  let offset = 0;
  return new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(offset, offset + chunk));
      offset += chunk;
    },
  });
}

// ---- kinds ----------------------------------------------------------------------------------------------------------

const shifted = new Uint8Array(BYTES.length + 3);
shifted.set(BYTES, 3);

const KINDS = {
  Uint8Array: () => BYTES,
  ArrayBuffer: () => BYTES.buffer,
  'a view in the middle of a buffer': () => shifted.subarray(3),
  DataView: () => new DataView(BYTES.buffer),
  SharedArrayBuffer: () => {
    const shared = new SharedArrayBuffer(BYTES.length);
    new Uint8Array(shared).set(BYTES);
    return shared;
  },
  Blob: () => new Blob([BYTES]),
  File: () => new File([BYTES], 'm.gguf'),
  'ReadableStream of small chunks': () => streamOf(BYTES, 70_001),
  'ReadableStream of one chunk': () => streamOf(BYTES, BYTES.length),
  Response: () => new Response(BYTES),
  'a promise of a Response': () => Promise.resolve(new Response(BYTES)),
  'ranged, short reads, sometimes promises': () => ({
    size: BYTES.length,
    read: (offset, length) => {
      const bytes = BYTES.slice(offset, offset + Math.min(length, 1_000_003));
      return offset % 2 ? bytes : Promise.resolve(bytes.buffer);
    },
  }),
  'a URL': () => `${url}/whole.gguf`,
  'a URL object': () => new URL(`${url}/whole.gguf`),
  Request: () => new Request(`${url}/whole.gguf`),
  'a URL without a size': () => `${url}/chunked.gguf`,
  'a compressed URL': () => `${url}/gzip.gguf`,
  'a URL that breaks twice and takes ranges': () => `${url}/cuts.gguf?n=2`,
};

for (const [kind, make] of Object.entries(KINDS)) {
  test(`${kind} gives its bytes`, async () => {
    assert.ok((await readOne(make())).equals(BYTES));
  });
}

test('native streams are read into one buffer, so a piece is gone once the next one is asked for', async () => {
  for (const source of [`${url}/whole.gguf`, await fetch(`${url}/whole.gguf`), new Blob([BYTES])]) {
    const [part] = await open(source);
    const first = await part.next();
    assert.ok(first.length > 0);
    assert.ok(first.buffer.byteLength <= 1 << 20);
    await part.next();
    assert.equal(first.length, 0);
    part.cancel();
  }
});

test('a stream of bytes that a page has made may end as it does for other readers', async () => {
  // For a reader with a buffer `respond(0)` would be needed, too.
  const ended = () => new ReadableStream({ type: 'bytes', pull: (c) => (c.enqueue(BYTES.slice(0, 9)), c.close()) });
  for (const source of [ended(), new Response(ended())]) assert.equal((await readOne(source)).length, 9);
  const late = new ReadableStream({ type: 'bytes', pull: (c) => c.close() });
  assert.equal((await readOne(late)).length, 0);
});

/** The kinds of which a part can be read again. */
const AGAIN = Object.keys(KINDS).filter((kind) => /Array|view|Data|^Blob|^File|ranged/.test(kind));

for (const kind of AGAIN) {
  test(`${kind} is read again, before and after its end`, async () => {
    const [part] = await open(KINDS[kind]());
    await part.next();
    const ranges = [
      [BYTES.length - 5, 5],
      [0, 1],
      [1_000_000, 3_000_000],
    ];
    for (let round = 0; round < 2; round += 1) {
      const found = await Promise.all(ranges.map(([offset, length]) => part.read(offset, length)));
      for (const [i, [offset, length]] of ranges.entries()) {
        assert.ok(Buffer.from(found[i]).equals(Buffer.from(BYTES.subarray(offset, offset + length))), `${offset}`);
      }
      while (await part.next());
    }
    part.cancel();
  });
}

test('streams, responses and URLs are read once', async () => {
  for (const kind of ['ReadableStream of one chunk', 'Response', 'a URL']) {
    const [part] = await open(KINDS[kind]());
    assert.equal(part.read, undefined, kind);
    part.cancel();
  }
});

test('a range that cannot be read again fails by name', async () => {
  const read = (offset, length) => (offset === 7 ? Promise.reject(new Error('gone')) : BYTES.slice(0, length + 1));
  const [part] = await open({ size: 100, name: 'a.gguf', read });
  await assert.rejects(
    part.read(7, 9),
    withCode('download_failed', /a\.gguf: reading 9 bytes at 7 of 100 failed.*gone/),
  );
  await assert.rejects(part.read(8, 9), withCode('download_failed', /reading 9 bytes at 8 of 100 gave 10 bytes/));
});

test('sizes are known before reading where they can be', async () => {
  const known = [BYTES, new Blob([BYTES]), `${url}/whole.gguf`];
  for (const source of [...known, `${url}/chunked.gguf`, `${url}/gzip.gguf`]) {
    const [part] = await open(source);
    assert.equal(part.size, known.includes(source) ? BYTES.length : undefined);
    part.cancel();
  }
});

test('a model larger than maxBytes is refused, before it is read where its size is known', async () => {
  const maxBytes = BYTES.length - 1;
  const tooLarge = withCode('limit_exceeded', new RegExp(`the model has ${BYTES.length} .*'maxBytes' is ${maxBytes}`));
  for (const source of [BYTES, new Blob([BYTES]), `${url}/whole.gguf`]) {
    await assert.rejects(open(source, never, { maxBytes }), tooLarge);
  }
  const halves = [BYTES.slice(0, 100), BYTES.slice(100)];
  await assert.rejects(open(halves, never, { maxBytes }), tooLarge);
  assert.equal((await open(halves, never, { maxBytes: BYTES.length })).length, 2);
  const streamed = () => new ReadableStream({ start: (c) => (c.enqueue(BYTES), c.close()) });
  await assert.rejects(
    readOne(streamed(), never, { maxBytes }),
    withCode('limit_exceeded', /or more bytes, 'maxBytes'/),
  );
  assert.equal((await readOne(streamed(), never, { maxBytes: BYTES.length })).length, BYTES.length);
});

test('what is no source is refused by name', async () => {
  await assert.rejects(open(42), withCode('invalid_argument', /unknown kind of source.*found 42/));
  await assert.rejects(open(null), withCode('invalid_argument', /found null/));
  await assert.rejects(open({ a: 1 }), withCode('invalid_argument', /an object \(Object\)/));
  await assert.rejects(open(''), withCode('invalid_argument', /empty/));
  await assert.rejects(open([]), withCode('invalid_argument', /empty/));
  await assert.rejects(open('http://'), withCode('invalid_argument', /not a URL/));
  await assert.rejects(open({ size: NaN, read() {} }), withCode('invalid_argument', /size.*NaN/));
  const used = new Response('x');
  await used.text();
  await assert.rejects(open(used), withCode('invalid_argument', /read already/));
  await assert.rejects(open(new Response('no', { status: 403 })), withCode('download_failed', /403/));
  const texts = new ReadableStream({ start: (c) => (c.enqueue('text'), c.close()) });
  await assert.rejects(readOne(texts), withCode('invalid_argument', /must carry bytes, found 'text'/));
});

test('a read that gives too little, too much or fails is download_failed', async () => {
  const ranged = (read) => readOne({ size: 10, name: 'r', read });
  await assert.rejects(
    ranged(() => new Uint8Array(0)),
    withCode('download_failed', /r: reading 10 bytes at 0 of 10 gave 0/),
  );
  await assert.rejects(
    ranged(() => new Uint8Array(11)),
    withCode('download_failed', /gave 11 bytes/),
  );
  await assert.rejects(
    ranged(() => {
      throw new Error('disk');
    }),
    withCode('download_failed', /disk/),
  );
  await assert.rejects(
    ranged(() => 'text'),
    withCode('invalid_argument', /must give an ArrayBuffer/),
  );
});

test('a response that lies about its size is caught', async () => {
  const lying = (length) =>
    new Response(streamOf(BYTES.subarray(0, 1000), 100), { headers: { 'content-length': length } });
  await assert.rejects(readOne(lying('999')), withCode('download_failed', /longer.*received 1000 of 999/));
  await assert.rejects(readOne(lying('1001')), withCode('download_failed', /shorter.*received 1000 of 1001/));
});

// ---- HTTP -----------------------------------------------------------------------------------------------------------

let server;
let url;
let asked = [];
/** Answers that the server has not ended and the client has not left. */
const unfinished = new Set();

before(async () => {
  const { gzipSync } = await import('node:zlib');
  const zipped = gzipSync(BYTES, { level: 1 });
  let cuts = 0;
  server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://x');
    unfinished.add(response.on('close', () => unfinished.delete(response)));
    response.path = request.url;
    asked.push({ pathname, method: request.method, ...request.headers });
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const cutAt = (bytes) => response.write(bytes, () => setTimeout(() => response.destroy(), 20));
    const whole = { 'content-length': BYTES.length, etag: '"one"', 'accept-ranges': 'bytes' };
    const partial = {
      ...whole,
      'content-length': BYTES.length - from,
      'content-range': `bytes ${from}-${BYTES.length - 1}/${BYTES.length}`,
    };
    const routes = {
      '/whole.gguf': () => response.writeHead(200, whole).end(BYTES),
      '/chunked.gguf': () => response.writeHead(200).end(BYTES),
      '/gzip.gguf': () =>
        response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': zipped.length }).end(zipped),
      '/cuts.gguf': () => {
        if (from === 0) cuts = Number(searchParams.get('n'));
        response.writeHead(from ? 206 : 200, from ? partial : whole);
        if (cuts-- > 0) cutAt(BYTES.subarray(from, from + (1 << 20)));
        else response.end(BYTES.subarray(from));
      },
      '/busy.gguf': () => {
        if (from === 0) {
          response.writeHead(200, whole);
          return cutAt(BYTES.subarray(0, 1000));
        }
        return response.writeHead(503).end();
      },
      '/no-ranges.gguf': () => {
        response.writeHead(200, { 'content-length': BYTES.length });
        cutAt(BYTES.subarray(0, 5000));
      },
      '/none.gguf': () => {
        response.writeHead(200, { ...whole, 'accept-ranges': 'none' });
        cutAt(BYTES.subarray(0, 5000));
      },
      '/no-byte-once.gguf': () => {
        response.writeHead(200, { 'content-length': BYTES.length, 'accept-ranges': 'none' });
        if (asked.length > 1) return response.end(BYTES);
        response.flushHeaders();
        setTimeout(() => response.destroy(), 20);
      },
      '/changed.gguf': () => {
        if (from === 0) {
          response.writeHead(200, whole);
          return cutAt(BYTES.subarray(0, 5000));
        }
        response.writeHead(206, { ...partial, etag: '"two"' }).end(BYTES.subarray(from));
      },
      '/limited.gguf': () => {
        const tries = asked.filter((request) => request.pathname === '/limited.gguf').length;
        if (tries > Number(searchParams.get('n'))) return response.writeHead(200, whole).end(BYTES);
        return response.writeHead(429, { 'retry-after': searchParams.get('after') ?? '0' }).end();
      },
      '/stalls-once.gguf': () => {
        response.writeHead(from ? 206 : 200, from ? partial : whole);
        if (from) return response.end(BYTES.subarray(from));
        return response.write(BYTES.subarray(0, 1000));
      },
      '/silent.gguf': () => {},
      '/compressing.gguf': () => {
        const isAsked = /gzip/.test(request.headers['accept-encoding']) && !request.headers.range;
        if (isAsked) return response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped);
        return response.writeHead(206, { ...partial, 'content-length': BYTES.length }).end(BYTES);
      },
      '/empty.gguf': () => {
        if (request.headers.range) return response.writeHead(416, { 'content-range': 'bytes */0' }).end();
        return response.writeHead(200, { 'content-length': 0 }).end();
      },
      '/stalled.gguf': () => {
        response.writeHead(200, whole);
        response.write(BYTES.subarray(0, 1000));
      },
    };
    const split = /^\/s-0000([123])-of-00003\.gguf$/.exec(pathname);
    if (split)
      return response.writeHead(200, { 'content-length': 3 }).end(request.method === 'HEAD' ? '' : `p-${split[1]}`);
    if (routes[pathname]) return routes[pathname]();
    return response.writeHead(404).end('nothing here');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${server.address().port}`;
});

after(() => {
  server.close();
  server.closeAllConnections();
});

test('a status is reported with the URL', async () => {
  await assert.rejects(open(`${url}/nothing.gguf`), withCode('download_failed', /nothing\.gguf: HTTP status 404/));
});

test('no message has the query or the password of a URL', async () => {
  const secret = (error) => {
    assert.equal(error.name, 'WebggufError');
    assert.doesNotMatch(error.message, /SECRET/);
    return true;
  };
  const failing = ['nothing.gguf?sig=SECRET', 'no-ranges.gguf?sig=SECRET'].map((path) => `${url}/${path}`);
  failing.push('http://127.0.0.1:9/m.gguf?sig=SECRET', 'http://user:SECRET@127.0.0.1:9/m.gguf');
  for (const source of failing) await assert.rejects(readOne(source), secret, source);
  const options = { token: 'hf_\nSECRET', backend: 'cpu' };
  await assert.rejects(api.WasmModel.load('hf:o/r', options), secret);
  await assert.rejects(
    api.WasmModel.load('hf:o/r', options),
    withCode('invalid_argument', /'token' must be an access/),
  );
});

test('a server that is not there is reported', async () => {
  await assert.rejects(open('http://127.0.0.1:9/m.gguf'), withCode('download_failed', /could not be fetched/));
});

test('resuming asks for the rest only, with the ETag and the headers of the request', async () => {
  asked = [];
  const request = new Request(`${url}/cuts.gguf?n=1`, { headers: { authorization: 'Bearer x' } });
  assert.ok((await readOne(request)).equals(BYTES));
  assert.equal(asked.length, 2);
  assert.match(asked[1].range, /^bytes=\d+-$/);
  assert.notEqual(asked[1].range, 'bytes=0-');
  assert.equal(asked[1]['if-range'], '"one"');
  assert.equal(asked[1].authorization, 'Bearer x');
});

test('resuming gives up after some tries and names both numbers', async () => {
  asked = [];
  await assert.rejects(
    readOne(`${url}/busy.gguf`, never, { retries: 2 }),
    withCode(
      'download_failed',
      new RegExp(`broke after 1000 of ${BYTES.length} bytes: gave up after 2 of 2 tries to resume.*HTTP status 503`),
    ),
  );
  assert.equal(asked.length, 3);
});

test('a busy server is asked again when it says, at the first request, on resuming and for a range', async () => {
  asked = [];
  assert.ok((await readOne(`${url}/limited.gguf?n=3`)).equals(BYTES));
  assert.equal(asked.length, 4);
  const failing = (options, says) =>
    assert.rejects(readOne(`${url}/limited.gguf?n=9`, never, options), withCode('download_failed', says));
  asked = [];
  await failing({ retries: 0 }, /HTTP status 429/);
  await failing({ retries: 2 }, /HTTP status 429/);
  assert.equal(asked.length, 1 + 3);
  asked = [];
  const far = readOne(`${url}/limited.gguf?n=9&after=3600`);
  await assert.rejects(far, withCode('download_failed', /HTTP status 429.*asked again after 3600 s/));
  assert.equal(asked.length, 1);
});

test('a connection that gives no byte is resumed, before and after the headers', async () => {
  asked = [];
  assert.ok((await readOne(`${url}/stalls-once.gguf`, never, { stallTimeout: 1000 })).equals(BYTES));
  // A busy machine may make another connection stall, too.
  assert.equal(asked[1].range, 'bytes=1000-');
  await assert.rejects(
    readOne(`${url}/silent.gguf`, never, { stallTimeout: 100 }),
    withCode('download_failed', /silent\.gguf: no byte for 0\.1 s/),
  );
});

test('nothing is compressed on the way, and an empty file is one', async () => {
  const [part] = await open(`${url}/compressing.gguf`);
  assert.equal(part.size, BYTES.length);
  assert.ok((await readAll(part)).equals(BYTES));
  assert.equal((await readOne(`${url}/empty.gguf`)).length, 0);
});

test('a cut on a server without ranges is final, with both numbers', async () => {
  const numbers = (reason) =>
    withCode('download_failed', new RegExp(`after 5000 of ${BYTES.length} bytes: .*${reason}`));
  await assert.rejects(readOne(`${url}/no-ranges.gguf`), numbers('no range requests'));
  asked = [];
  await assert.rejects(readOne(`${url}/none.gguf`), numbers('no range requests'));
  assert.equal(asked.length, 1, 'a server that says it has no ranges is not asked');
});

test('a connection cut before the first byte begins again, on a server without ranges, too', async () => {
  asked = [];
  assert.ok((await readOne(`${url}/no-byte-once.gguf`)).equals(BYTES));
  assert.equal(asked.length, 2);
});

test('a file that changed is not stitched together', async () => {
  await assert.rejects(readOne(`${url}/changed.gguf`), withCode('download_failed', /the file changed/));
});

test('a signal ends a stalled read, a pause before a new try, and a foreign read that never ends', async () => {
  const stalls = [
    `${url}/stalled.gguf`,
    `${url}/busy.gguf`,
    { size: 9, read: () => new Promise(() => {}) },
    new ReadableStream({ pull: () => new Promise(() => {}) }),
  ];
  for (const source of stalls) {
    const controller = new AbortController();
    const reading = readOne(source, controller.signal);
    let isOver = false;
    const ended = assert.rejects(reading, isAbort).finally(() => (isOver = true));
    await new Promise((resolve) => setTimeout(resolve, 100));
    controller.abort();
    // What waits for a time of its own ends after many more turns.
    for (let turn = 0; turn < 200 && !isOver; turn += 1) await new Promise(setImmediate);
    assert.ok(isOver, 'at once');
    await ended;
  }
});

test('cancel ends the connection, and nothing else was left open', async () => {
  const [part] = await open(`${url}/stalled.gguf`);
  await part.next();
  part.cancel();
  for (let wait = 0; wait < 6000 && unfinished.size > 0; wait += 1) await new Promise((r) => setTimeout(r, 20));
  assert.deepEqual(
    [...unfinished].map(({ path }) => path),
    [],
  );
});

// ---- split files ----------------------------------------------------------------------------------------------------

const text = async (parts) => (await Promise.all(parts.map(readAll))).map(String).join();

test('a URL of a split file brings the others', async () => {
  const parts = await open(`${url}/s-00001-of-00003.gguf?download=true`);
  assert.deepEqual(
    parts.map(({ size }) => size),
    [3, 3, 3],
  );
  assert.match(parts[1].name, /s-00002-of-00003\.gguf\?…$/);
  assert.equal(await text(parts), 'p-1,p-2,p-3');
  assert.equal(await text(await open(new Request(`${url}/s-00001-of-00003.gguf`))), 'p-1,p-2,p-3');
});

test('a missing part is found before anything is read', async () => {
  await assert.rejects(
    open(`${url}/t-00001-of-00002.gguf`),
    withCode('download_failed', /t-0000\d-of-00002\.gguf: HTTP status 404/),
  );
});

test('files of a split model are put in order', async () => {
  const file = (n) => new File([`f${n}`], `m-0000${n}-of-00003.gguf`);
  assert.equal(await text(await open([file(3), file(1), file(2)])), 'f1,f2,f3');
  await assert.rejects(open([file(3), file(1)]), withCode('invalid_argument', /2 files given for 3 parts, missing 2/));
  await assert.rejects(open([file(1), file(1), file(2)]), withCode('invalid_argument', /missing 3/));
  await assert.rejects(open(file(1)), withCode('invalid_argument', /part 1 of 3: give all parts/));
});

test('parts without names stay in their order', async () => {
  assert.equal(await text(await open([new Blob(['b']), new TextEncoder().encode('a')])), 'b,a');
});
