/**
 * The part of listening that runs in the thread for sound. As a file of its own it is the worklet's module; where that
 * file cannot be found, its function goes there as a blob. So it must not import anything.
 */

/** Puts the processor there. @internal */
export function captureProcessor(): void {
  /** What a worklet's scope has, in which this runs. */
  interface Scope {
    AudioWorkletProcessor: new () => { readonly port: MessagePort };
    registerProcessor(name: string, kind: new () => object): void;
  }
  const scope = globalThis as unknown as Scope;

  /** Samples in one message: with 48 kHz, 21 ms. */
  const COUNT = 1024;

  class Capture extends scope.AudioWorkletProcessor {
    samples = new Float32Array(COUNT);
    filled = 0;

    /** Puts the mean of all channels into the next message; a microphone that is muted has no channels. */
    process([channels = []]: readonly (readonly Float32Array[])[]): boolean {
      const [first] = channels;
      for (let at = 0; at < (first?.length ?? 128); at += 1) {
        let sum = 0;
        for (const channel of channels) sum += channel[at] ?? 0;
        this.samples[this.filled] = sum / Math.max(1, channels.length);
        this.filled += 1;
        if (this.filled === COUNT) this.send();
      }
      return true;
    }

    send(): void {
      this.port.postMessage(this.samples, [this.samples.buffer]);
      this.samples = new Float32Array(COUNT);
      this.filled = 0;
    }
  }
  scope.registerProcessor('webgguf-capture', Capture);
}

if ('registerProcessor' in globalThis) captureProcessor();
