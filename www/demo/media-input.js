// The camera or the microphone: the page asks for it, and says why it cannot have it.

/** Stops what records. */
function stop(stream) {
  for (const track of stream.getTracks()) track.stop();
}

/** A camera or a microphone, of which the page has at most one stream at a time. */
export class MediaInput {
  #name;
  #instead;
  #constraints;
  #stream;
  /** Counts openings and closings: a stream that comes after it was closed again is stopped. */
  #changes = 0;

  /** @param {{name: string, instead: string, constraints: MediaStreamConstraints}} given `instead`: what to choose */
  constructor({ name, instead, constraints }) {
    this.#name = name;
    this.#instead = instead;
    this.#constraints = constraints;
  }

  /** Gives its stream to `begin`; returns whether that began. `note` says why not, unless it was closed meanwhile. */
  async open(note, begin) {
    const mine = ++this.#changes;
    try {
      if (!navigator.mediaDevices) throw new Error('pages may use it on https: and on localhost alone');
      const stream = await navigator.mediaDevices.getUserMedia(this.#constraints);
      if (mine !== this.#changes) {
        stop(stream);
        return false;
      }
      this.#stream = stream;
      begin(stream);
      return true;
    } catch (error) {
      if (mine !== this.#changes) return false;
      this.close();
      note(this.#refusal(error));
      return false;
    }
  }

  /** Stops its stream; returns whether there was one. */
  close() {
    this.#changes += 1;
    const stream = this.#stream;
    this.#stream = undefined;
    if (stream) stop(stream);
    return stream !== undefined;
  }

  #refusal({ name, message }) {
    const [what, other] = [this.#name, `hoose a ${this.#instead} instead.`];
    const words = {
      NotAllowedError: `The ${what} was refused. Allow it beside the address of this page, or c${other}`,
      NotFoundError: `There is no ${what}. C${other}`,
      NotReadableError: `Another program is using the ${what}. Close it, or c${other}`,
    };
    return words[name] ?? `The ${what} cannot be used: ${message}.`;
  }
}
