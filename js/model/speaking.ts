/**
 * What a model says: the part of `WasmModel` for models with a vocoder.
 */
import type { Message } from '../types/chat.js';
import type { TokenIds } from '../types/read.js';
import type { AnswerPiece, ConverseOptions, SpeakOptions, SpeechOptions, SpeechPiece } from '../types/speech.js';
import type { SpeakingModel } from '../voice/speak.js';
import { onDemand } from './on-demand.js';

/** What {@link WasmModel} inherits. */
export abstract class Speaking {
  /**
   * Speaks a text sentence by sentence, by the {@link LoadOptions.vocoder}. The pieces follow each other without a gap;
   * leaving the loop ends the speech. Throws the errors of `generate`; `context_full` where a sentence is too long.
   */
  async *speak(text: string, options: SpeakOptions = {}): AsyncGenerator<SpeechPiece, void> {
    yield* (await onDemand.voice()).speak(asModel(this), text, options);
  }

  /** The whole sound of a text as a file, made as {@link speak} makes it. */
  async speech(text: string, options: SpeechOptions = {}): Promise<Blob> {
    return (await onDemand.voice()).speech(asModel(this), text, options);
  }

  /**
   * Answers in text and sound, for a model that speaks what it writes (LFM3-Audio, loaded with `vocoder` and, to hear,
   * `mmproj`). Pieces of both come in the order in which the model makes them; leaving the loop ends the answer.
   *
   * @param prompt as for `generate`; of earlier answers the model reads the text
   * @throws {WebggufError} `invalid_argument` for a model or a vocoder of another kind; the errors of `generate`
   *
   * @example
   * for await (const piece of model.converse([{ role: 'user', content: [{ type: 'audio', audio }] }])) {
   *   if (piece.type === 'text') out.textContent += piece.text;
   *   else player.push(piece.samples, piece.sampleRate);
   * }
   */
  async *converse(
    prompt: string | readonly Message[] | TokenIds,
    options: ConverseOptions = {},
  ): AsyncGenerator<AnswerPiece, void> {
    yield* (await onDemand.converse()).converse(asModel(this), prompt, options);
  }
}

const asModel = (speaking: Speaking): SpeakingModel => speaking as unknown as SpeakingModel;
