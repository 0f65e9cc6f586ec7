/**
 * Speech of a text by a model with a vocoder.
 */
import { invalidArgument } from '../errors.js';
import type { ModelInfo } from '../types/info.js';
import type { SpeakOptions, SpeechOptions, SpeechPiece } from '../types/speech.js';

/** What speech needs of a `WasmModel`. @internal */
export interface SpeakingModel {
  readonly info: ModelInfo;
}

/** See {@link WasmModel.speak}. @internal */
export function speak(_model: SpeakingModel, _text: string, _options: SpeakOptions): AsyncIterable<SpeechPiece> {
  throw invalidArgument("speak: the model has no vocoder: load it with the option 'vocoder'");
}

/** See {@link WasmModel.speech}. @internal */
export async function speech(_model: SpeakingModel, _text: string, _options: SpeechOptions): Promise<Blob> {
  throw invalidArgument("speech: the model has no vocoder: load it with the option 'vocoder'");
}
