/**
 * Calls as they come out of an answer.
 */
import { isObject } from './objects.js';
import { OTHER } from './scanner.js';
import type { Sink, Tools } from './format.js';

/** A part of a call. @internal */
export type CallDelta =
  /** A call begins; `index` counts calls from 0. */
  | { readonly index: number; readonly name: string }
  /** Further JSON text of its arguments. */
  | { readonly index: number; readonly arguments: string };

/** Names of tools that are not known: letters of any script, digits and some signs. */
const NAME = /^[\p{L}\p{M}\p{N}_./:@#$+~-]{1,128}$/u;

/**
 * Gets calls. Their arguments go on at once where a grammar makes sure of them (`isSure`), else when they are complete
 * and JSON: what has gone on cannot become text any more.
 * @internal
 */
export class Calls implements Sink {
  /** What is new. */
  deltas: CallDelta[] = [];
  /** Calls that are complete. */
  complete = 0;
  isSure = false;
  /** Called where all before belongs to calls. */
  onTaken: () => void = () => {};
  #keeps = false;
  #open: { name: string; parts: string[]; isSaid: boolean } | undefined;

  constructor(readonly tools: Tools) {}

  begin(given: string, isKnown = false): void {
    const bare = given.replace(/^functions?\./, '');
    const name = !this.tools.has(given) && this.tools.has(bare) ? bare : given;
    if (!this.tools.has(name) && (isKnown || !NAME.test(name))) throw OTHER;
    this.#open = { name, parts: [], isSaid: false };
  }

  add(text: string): void {
    const call = this.#open;
    if (!call || text === '') return;
    call.parts.push(text);
    if (!this.isSure) return;
    this.#say();
    this.onTaken();
  }

  done(): void {
    const call = this.#open;
    if (!call) return;
    if (!call.isSaid && !isObject(call.parts.join(''))) throw OTHER;
    this.#say();
    this.#open = undefined;
    this.#keeps = false;
    this.complete += 1;
    this.onTaken();
  }

  taken(): void {
    if (!this.#open) this.onTaken();
  }

  keep(): void {
    this.#keeps = true;
  }

  /** The text was cut off: what there is of a call goes on. Whether nothing is lost by that. */
  cut(): boolean {
    const isLost = this.#keeps && !this.#open;
    if (this.#open && !isLost) {
      if (!this.#open.isSaid || this.#open.parts.length > 0) this.#say();
      this.#open = undefined;
      this.complete += 1;
    }
    return !isLost;
  }

  /** What was read is no call. */
  drop(): void {
    if (this.#open?.isSaid) this.complete += 1;
    this.#open = undefined;
    this.#keeps = false;
  }

  #say(): void {
    const call = this.#open;
    if (!call) return;
    const index = this.complete;
    if (!call.isSaid) this.deltas.push({ index, name: call.name });
    call.isSaid = true;
    const text = call.parts.join('');
    if (text) this.deltas.push({ index, arguments: text });
    call.parts.length = 0;
  }
}
