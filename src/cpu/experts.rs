//! Experts of a program: a layer's chosen ones are read, and no others.

use crate::cpu::interpreter::Interpreter;
use crate::cpu::weights::Tensor;
use crate::error::Result;
use crate::kernels::reference::{Routing, gated, route};
use crate::model::WeightKey;
use crate::model::program::{self, Activation, ExpertActivation, Experts, GateUp, Op};
use crate::simd::add_scaled;

/// The tokens' choices of one expert: number `token · used + choice`, with its weight.
type Entries = Vec<(usize, f32)>;

impl Interpreter<'_> {
    /// Ids (as numbers), then weights, of each token.
    pub(super) fn route(&mut self, logits: Activation, routing: &program::Routing, routes: Activation) {
        let Experts { count, used } = routing.experts;
        let vector = |key: Option<WeightKey>| key.and_then(|key| self.weights.vector(key));
        let by = Routing {
            used,
            gating: routing.gating,
            normalise: routing.normalise,
            scale: routing.scale,
            logit_scale: routing.logit_scale,
            groups: routing.groups,
            bias: vector(routing.bias),
            expert_scales: vector(routing.expert_scales),
        };
        let mut out = self.run.take(routes);
        for (logits, out) in self.run.values[logits.0].chunks_exact(count).zip(out.chunks_exact_mut(2 * used)) {
            for (s, (id, weight)) in route(&by, logits).into_iter().enumerate() {
                (out[s], out[used + s]) = (id as f32, weight);
            }
        }
        self.run.put(routes, out);
    }

    /// Gate and up, or down, expert by expert: each weight is dequantised once for all tokens that chose it.
    pub(super) async fn experts(&mut self, op: &Op, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let (Op::ExpertGate { x, routes, experts, y, .. } | Op::ExpertDown { x, routes, experts, y, .. }) = *op else {
            return Ok(());
        };
        let mut out = self.run.take(y);
        if matches!(op, Op::ExpertDown { .. }) {
            out.fill(0.0);
        }
        let (x, width) = (&self.run.values[x.0], out.len() / self.run.tokens);
        for (expert, entries) in entries(&self.run.values[routes.0], experts).into_iter().enumerate() {
            if entries.is_empty() {
                continue;
            }
            let tokens: Vec<usize> = entries.iter().map(|(entry, _)| entry / experts.used).collect();
            match op {
                Op::ExpertGate { gate_up, kind, .. } => {
                    let cols = x.len() / self.run.tokens;
                    let x = gathered(x, cols, tokens.iter().copied());
                    let found =
                        self.gate_of_expert(gate_up, *kind, [expert, experts.count], (&x, &tokens), yield_now).await?;
                    let width = width / experts.used;
                    for ((entry, _), found) in entries.iter().zip(found.chunks_exact(width)) {
                        out[entry * width..][..width].copy_from_slice(found);
                    }
                }
                Op::ExpertDown { weight, bias, .. } => {
                    let cols = x.len() / self.run.tokens / experts.used;
                    let x = gathered(x, cols, entries.iter().map(|(entry, _)| *entry));
                    let of = [expert, experts.count];
                    let found = self.product(*weight, *bias, of, (&x, &tokens), yield_now).await?;
                    for ((entry, weight), found) in entries.iter().zip(found.chunks_exact(width)) {
                        let out = &mut out[entry / experts.used * width..][..width];
                        add_scaled(out, *weight, found);
                    }
                }
                _ => {}
            }
        }
        self.run.put(y, out);
        Ok(())
    }

    async fn gate_of_expert(
        &self,
        gate_up: &GateUp,
        kind: ExpertActivation,
        of: [usize; 2],
        x: (&[f32], &[usize]),
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<Vec<f32>> {
        let pair = |gates: &[f32], ups: &[f32]| -> Vec<f32> {
            gates.iter().zip(ups).map(|(&gate, &up)| gated(kind, gate, up)).collect()
        };
        match *gate_up {
            GateUp::Alone(key) => self.product(key, None, of, x, yield_now).await,
            GateUp::Fused(key) => {
                let both = self.product(key, None, of, x, yield_now).await?;
                let width = self.weights.tensor(key).rows() / of[1];
                let rows = both.chunks_exact(width).map(|row| row.split_at(width / 2));
                Ok(rows.flat_map(|(gate, up)| pair(gate, up)).collect())
            }
            GateUp::Pair { weights, biases } => {
                let [gate_bias, up_bias] = biases.map_or([None, None], |biases| biases.map(Some));
                let gates = self.product(weights[0], gate_bias, of, x, yield_now).await?;
                let ups = self.product(weights[1], up_bias, of, x, yield_now).await?;
                Ok(pair(&gates, &ups))
            }
        }
    }

    /// Rows of x, of these tokens, by the matrix of expert `expert` of `count`, plus its bias.
    async fn product(
        &self,
        weight: WeightKey,
        bias: Option<WeightKey>,
        [expert, count]: [usize; 2],
        (x, tokens): (&[f32], &[usize]),
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<Vec<f32>> {
        let tensor: &Tensor = self.weights.tensor(weight);
        let rows = tensor.rows() / count;
        let mut out = vec![0.0; x.len() / tensor.cols() * rows];
        tensor.apply_rows(expert * rows..(expert + 1) * rows, x, &mut out, yield_now).await?;
        if let Some(bias) = bias.and_then(|bias| self.weights.vector(bias)) {
            let bias = &bias[expert * rows..(expert + 1) * rows];
            let rows = out.chunks_exact_mut(rows);
            rows.flat_map(|row| row.iter_mut().zip(bias)).for_each(|(out, bias)| *out += bias);
        }
        self.adapt(weight, expert, (x, tensor.cols()), |row| tokens[row], &mut out);
        Ok(out)
    }
}

/// The entries of each expert, from rows of routes.
fn entries(routes: &[f32], Experts { count, used }: Experts) -> Vec<Entries> {
    let mut found = vec![Entries::new(); count];
    for (token, row) in routes.chunks_exact(2 * used).enumerate() {
        let (ids, weights) = row.split_at(used);
        for (s, (&id, &weight)) in ids.iter().zip(weights).enumerate() {
            found[id as usize].push((token * used + s, weight));
        }
    }
    found
}

/// Some rows of x, of `cols` values each.
fn gathered(x: &[f32], cols: usize, rows: impl Iterator<Item = usize>) -> Vec<f32> {
    rows.flat_map(|row| &x[row * cols..][..cols]).copied().collect()
}
