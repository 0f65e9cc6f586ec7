// Workers of this thread: the script's `serve` on the other end of a message channel, so that all that crosses is
// copied and moved as it is between threads.

const { serve } = await import(new URL('engine/worker-side.js', (await import('./api.mjs')).dist).href);

/** The workers that were made; `dead` ones were terminated. */
export const workers = [];

export class MockWorker extends EventTarget {
  dead = false;
  /** How many bytes were copied into messages rather than moved, by direction. */
  copied = { in: 0, out: 0 };
  #port;

  constructor(url, options) {
    super();
    Object.assign(this, { url, options });
    workers.push(this);
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.onmessage = ({ data }) => this.dispatchEvent(new MessageEvent('message', { data }));
    const inside = { addEventListener: (type, listener) => port2.addEventListener(type, listener) };
    inside.postMessage = (message, transfer) => {
      this.copied.out += bytesIn(message, transfer);
      port2.postMessage(message, transfer);
    };
    serve(inside);
    port2.start();
  }

  postMessage(message, transfer) {
    this.copied.in += bytesIn(message, transfer);
    this.#port.postMessage(message, transfer);
  }

  terminate() {
    this.dead = true;
    this.#port.close();
  }
}

/** Bytes of the buffers in a message that are not among those to be moved. */
function bytesIn(value, transfer) {
  if (ArrayBuffer.isView(value)) return transfer.includes(value.buffer) ? 0 : value.byteLength;
  if (value instanceof ArrayBuffer) return transfer.includes(value) ? 0 : value.byteLength;
  if (typeof value !== 'object' || value === null || value instanceof Blob) return 0;
  return Object.values(value).reduce((sum, part) => sum + bytesIn(part, transfer), 0);
}
