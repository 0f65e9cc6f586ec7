/**
 * Operation of the engine → how its gradient comes about. The names are as in `src/tensor/op.rs`.
 */
import type { Step } from '../tensor/expression.js';
import { fuseRule, selectRule, scaleRule, stepRule } from './rules-elementwise.js';
import { matmulGroupedRule } from './rules-experts.js';
import { gatedRule, gateUpRule, matmulRule, projectRule } from './rules-matrix.js';
import { attentionRule, ropeRule } from './rules-model.js';
import {
  concatRule,
  embeddingRule,
  gatherRule,
  narrowRule,
  sameElements,
  scatterAddRule,
  transposeRule,
} from './rules-movement.js';
import { cumsumRule, layerNormRule, reduceRule, rmsNormRule, softmaxRule, topKRule } from './rules-rows.js';
import { selectiveScanRule } from './rules-scan.js';
import type { Rule } from './tape.js';

const RULES: Record<string, Rule> = {
  unary: stepRule,
  binary: stepRule,
  scale: scaleRule,
  select: selectRule,
  fuse: fuseRule,
  cast: sameElements,
  reshape: sameElements,
  expand: sameElements,
  transpose: transposeRule,
  narrow: narrowRule,
  concat: concatRule,
  take: gatherRule,
  scatterAdd: scatterAddRule,
  embedding: embeddingRule,
  matmul: matmulRule,
  matmulGrouped: matmulGroupedRule,
  project: projectRule,
  gateUp: gateUpRule,
  gated: gatedRule,
  reduce: reduceRule,
  cumsum: cumsumRule,
  topK: topKRule,
  softmax: softmaxRule,
  rmsNorm: rmsNormRule,
  layerNorm: layerNormRule,
  attention: attentionRule,
  rope: ropeRule,
  selectiveScan: selectiveScanRule,
};

const COMPARISONS = new Set(['equal', 'notEqual', 'less', 'lessEqual', 'greater', 'greaterEqual']);

/**
 * The rule of an operation; `'stop'` where the result is constant but for jumps, so that no gradient goes through it;
 * nothing where a gradient would be needed and there is none.
 */
export function ruleFor(op: string, options: Readonly<Record<string, unknown>>): Rule | 'stop' | undefined {
  if (op === 'argmax') return 'stop';
  // A comparison with a number is a formula of one step.
  const last = op === 'fuse' ? (options.steps as readonly Step[]).at(-1)?.op : options.op;
  if (/^(binary|fuse)$/.test(op) && COMPARISONS.has(String(last))) return 'stop';
  if (op === 'cast' && /^[ui]32$/.test(String(options.dtype))) return 'stop';
  return Object.hasOwn(RULES, op) ? RULES[op] : undefined;
}
