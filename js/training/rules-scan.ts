/**
 * Gradients of recurrences.
 */
import type { Tensor } from '../tensor/tensor.js';
import { shaped } from '../compute/dispatch.js';
import { savedInputs } from './rules-matrix.js';
import { input } from './rules-movement.js';
import type { Given, Rule, RuleGpu } from './tape.js';

/** Steps of `scan` are at least this; e^−LEAST is 1. */
const LEAST = 1e-20;

/**
 * `selectiveScan` from `scan`, which has a rule, and operations on each element: computed again with the states of all
 * steps, [batch, length, channels, n].
 */
export const selectiveScanRule: Rule = (call) => {
  const { gpu } = call;
  const inputs = savedInputs(call);
  const leaves = Object.fromEntries(Object.entries(inputs).filter(([name]) => call.wants(name)));
  return (...dy): Given => {
    const flat = gpu.concat(dy.map((gradient) => shaped(gpu, gradient, [gradient.size])));
    return gpu.replay(() => selectiveScan(gpu, inputs), leaves, flat);
  };
};

/** y and behind it the last state, as one row. */
function selectiveScan(gpu: RuleGpu, { x, delta, a, b, c, d, state }: Record<string, Tensor>): Tensor {
  const [batch, length, channels] = (x as Tensor).shape as [number, number, number];
  const n = (a as Tensor).shape[1] as number;
  const step = gpu.reshape(delta as Tensor, [batch, length, channels, 1]);
  const [ofB, ofC] = [b, c].map((tensor) => gpu.reshape(tensor as Tensor, [batch, length, 1, n])) as [Tensor, Tensor];
  const rates = gpu.mul(step, a as Tensor);
  const given = gpu.mul(gpu.mul(step, ofB), gpu.reshape(x as Tensor, [batch, length, channels, 1]));
  const states = scan(gpu, rates, state ? startingFrom(gpu, given, rates, state) : given);
  const products = gpu.sum(gpu.mul(states, ofC), { axis: 3 });
  const y = d ? gpu.add(products, gpu.mul(x as Tensor, d)) : products;
  const last = gpu.narrow(states, 1, length - 1, 1);
  return gpu.concat([y, last].map((tensor) => gpu.reshape(tensor, [tensor.size])));
}

/** What comes in, with what is left of a state before the first step. */
function startingFrom(gpu: RuleGpu, given: Tensor, rates: Tensor, state: Tensor): Tensor {
  const [batch, length, channels, n] = given.shape as [number, number, number, number];
  const left = gpu.mul(gpu.exp(gpu.narrow(rates, 1, 0, 1)), gpu.reshape(state, [batch, 1, channels, n]));
  const first = gpu.add(gpu.narrow(given, 1, 0, 1), left);
  return length === 1 ? first : gpu.concat([first, gpu.narrow(given, 1, 1, length - 1)], { axis: 1 });
}

/** h_t = e^rate_t · h_{t−1} + given_t along axis 1 of [batch, length, ..]. Rates are below 0. */
function scan(gpu: RuleGpu, rates: Tensor, given: Tensor): Tensor {
  return gpu.custom('scan', { rates, given }, () => plainScan(gpu, rates, given), scanRule);
}

/** dgiven is the same recurrence from the other end; drate_t = dgiven_t · e^rate_t · h_{t−1}. */
const scanRule: Rule = (call) => {
  const { gpu } = call;
  const rates = call.save(input(call, 'rates'));
  const states = call.save(call.outputs[0] as Tensor);
  const [batch, length, ...others] = rates.shape as [number, number, ...number[]];
  const edge = (): Tensor => gpu.filled([batch, 1, ...others], 0);
  return (dy) => {
    const back = gpu.tensor(Uint32Array.from({ length }, (_, at) => length - 1 - at));
    const turned = (x: Tensor): Tensor => gpu.gather(x, back, { axis: 1 });
    const shifted = (x: Tensor, isEarlier: boolean): Tensor => {
      if (length === 1) return edge();
      const part = gpu.narrow(x, 1, isEarlier ? 0 : 1, length - 1);
      return gpu.concat(isEarlier ? [edge(), part] : [part, edge()], { axis: 1 });
    };
    const gradient = turned(plainScan(gpu, turned(shifted(rates, false)), turned(dy as Tensor)));
    const all = [gradient, rates, shifted(states, true)] as [Tensor, Tensor, Tensor];
    return { given: gradient, rates: () => gpu.fuse(all, (g, rate, before) => g.mul(rate.exp()).mul(before)) };
  };
};

/** The engine's operation with one state for each channel: its steps are −rate, and it takes in given / step. */
function plainScan(gpu: RuleGpu, rates: Tensor, given: Tensor): Tensor {
  const [batch, length] = rates.shape as [number, number];
  const channels = rates.size / batch / length;
  const shape = [batch, length, channels];
  const [delta, rows] = [gpu.fuse([rates], (rate) => rate.neg().max(LEAST)), shaped(gpu, given, shape)];
  const one = gpu.filled([batch, length, 1], 1);
  const { y } = gpu.selectiveScan({
    x: gpu.div(rows, shaped(gpu, delta, shape)),
    delta: shaped(gpu, delta, shape),
    a: gpu.filled([channels, 1], -1),
    b: one,
    c: one,
  });
  return shaped(gpu, y, rates.shape);
}
