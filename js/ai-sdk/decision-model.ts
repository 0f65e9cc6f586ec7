/**
 * `DecisionModelV4` over a model that is loaded at the first call.
 */
import { asTexts, textOf as textOfValue } from '../decide/content.js';
import type { DecideOptions, Questions } from '../decide/types.js';
import type { LazyModel } from '../model/lazy-model.js';
import { openaiFiles } from '../openai/files.js';
import { knowItself, throughProxies } from '../proxies.js';
import { unsupported } from './errors.js';
import { textOf } from './prompt.js';
import type { DecisionAnswer, DecisionCall, Warning, WebggufDecisionModel } from './types.js';

/** @internal */
export class DecisionModel implements WebggufDecisionModel {
  readonly specificationVersion = 'v4';
  readonly provider = 'webgguf.decision';
  readonly modelId: string;
  readonly supportedQuestionTypes = ['choice', 'score', 'boolean'] as const;
  readonly #lazy: LazyModel;

  constructor(modelId: string, lazy: LazyModel) {
    knowItself(this);
    this.modelId = modelId;
    this.#lazy = lazy;
  }

  async doDecide({
    state,
    questions,
    abortSignal: signal,
    reasoning,
    providerOptions,
  }: DecisionCall): ReturnType<WebggufDecisionModel['doDecide']> {
    const input = state.map((part) => (part.type === 'json' ? textOfValue(part.value) : textOf(part))).join('\n');
    const asked = Object.entries(questions).map(([name, question]) => {
      if (question.type === 'box') throw unsupported('question of type box');
      return [name, { type: question.type, ...asTexts(question) }] as const;
    });
    const further = providerOptions?.webgguf as Partial<DecideOptions> | undefined;
    const model = await this.#lazy.load(signal);
    const { decide } = await openaiFiles.decide();
    const all = Object.fromEntries(asked) as unknown as Questions;
    const { answers, usage } = await decide(model, { ...further, input, questions: all, signal });
    const isIgnored = reasoning !== undefined && reasoning !== 'none' && reasoning !== 'provider-default';
    const warnings: Warning[] = isIgnored ? [{ type: 'unsupported', feature: 'reasoning' }] : [];
    return {
      answers: answers as Record<string, DecisionAnswer>,
      usage: { inputTokens: usage.promptTokens, outputTokens: 0 },
      warnings,
      response: { modelId: this.modelId },
    };
  }
}
throughProxies(DecisionModel);
