// Every kind of source, for tests in pages.

/** Each gives the bytes of `url` in another way; they run in the page. */
export const SOURCES = {
  string: (url) => url,
  URL: (url) => new URL(url, location.href),
  Request: (url) => new Request(url),
  Response: (url) => fetch(url),
  Blob: async (url) => (await fetch(url)).blob(),
  File: async (url) => new File([await (await fetch(url)).blob()], 'model.gguf'),
  ArrayBuffer: async (url) => (await fetch(url)).arrayBuffer(),
  view: async (url) => {
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
    const wide = new Uint8Array(bytes.length + 20);
    wide.set(bytes, 7);
    return wide.subarray(7, 7 + bytes.length);
  },
  stream: async (url) => (await fetch(url)).body,
  'stream of single bytes at first': async (url) => {
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
    let at = 0;
    return new ReadableStream({
      pull(controller) {
        const end = at < 3000 ? at + 1 : bytes.length;
        controller.enqueue(bytes.slice(at, end));
        at = end;
        if (at === bytes.length) controller.close();
      },
    });
  },
  'size and read': async (url) => {
    const bytes = await (await fetch(url)).arrayBuffer();
    return { size: bytes.byteLength, read: async (offset, length) => bytes.slice(offset, offset + length) };
  },
  'server without ranges or length': () => '/bad/plain.gguf',
  'connection that breaks once': () => '/bad/resumable.gguf',
};
