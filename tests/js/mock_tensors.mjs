// A stand-in for the engine's tensors: keeps bytes and shapes, notes calls, computes nothing. An operation makes one
// tensor of its first input's shape, or what `shape` in `results` says for it; `expand` repeats one element.

/** What the engine was asked since `reset`, and how it answers. */
export const calls = { runs: [], freed: [], results: {}, error: undefined };

export class TensorEngine {
  #live = new Map();
  #next = 1;
  #destroyed = false;

  static async open() {
    if (calls.error) throw calls.error;
    return new TensorEngine();
  }

  facts() {
    return {
      name: 'mock',
      vendor: '',
      architecture: '',
      software: true,
      features: [],
      subgroupSize: [0, 0],
      dot4: false,
      limits: {},
    };
  }

  device() {
    this.#alive();
    return { of: this };
  }

  upload(bytes, dtype, shape) {
    this.#alive();
    return this.#make(Uint8Array.from(bytes), dtype, shape);
  }

  run(op, inputs, options) {
    this.#alive();
    if (calls.error) throw calls.error;
    const missing = inputs.find((id) => id !== undefined && !this.#live.has(id));
    if (missing !== undefined) throw new Error(`the mock has no tensor ${missing}`);
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined) throw new Error(`${op}: ${name} is undefined`);
    }
    calls.runs.push({ op, inputs, options });
    if (options.inPlace) return [this.#handle(inputs[0])];
    const shape = this.#live.get(inputs[0])?.shape ?? [1];
    if (op === 'expand' && shape.length === 0) {
      const { bytes, dtype } = this.#live.get(inputs[0]);
      const count = options.shape.reduce((product, length) => product * length, 1);
      return [
        this.#make(
          Uint8Array.from(
            Array(count)
              .fill([...bytes])
              .flat(),
          ),
          dtype,
          options.shape,
        ),
      ];
    }
    const count = calls.results[op] ?? 1;
    return Array.from({ length: count }, () => this.#make(new Uint8Array(0), options.dtype ?? 'f32', shape));
  }

  async read(id) {
    this.#alive();
    await new Promise((resolve) => setTimeout(resolve, 1));
    const { bytes } = this.#live.get(id);
    const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    padded.set(bytes);
    return padded;
  }

  free_tensor(id) {
    if (this.#live.delete(id)) calls.freed.push(id);
  }

  destroy() {
    this.#destroyed = true;
  }

  #make(bytes, dtype, shape) {
    const id = this.#next++;
    this.#live.set(id, { bytes, dtype, shape });
    return this.#handle(id);
  }

  #handle(id) {
    const { dtype, shape } = this.#live.get(id);
    return { id, dtype, shape };
  }

  #alive() {
    if (this.#destroyed) throw Object.assign(new Error('the Gpu was destroyed'), { code: 'invalid_argument' });
  }
}
