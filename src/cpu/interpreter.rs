//! Runs the operations of a program on the activations of a chunk of tokens.

use std::ops::Range;

use crate::cpu::adapters::ActiveAdapter;
use crate::cpu::source::Source;
use crate::cpu::weights::Weights;
use crate::error::Result;
use crate::kernels::kv_type::cache::LayerCache;
use crate::kernels::reference::{
    DeltaInputs, DeltaShape, NormShape, SsmHeads, SsmSizes, SsmToken, activated, conv_causal, delta_net, geglu,
    join_heads, layer_norm, output_gate, rms_norm, rope_scaled, silu, ssm_scan, swiglu,
};
use crate::model::program::{
    Activation, ConvSpec, DeltaSpec, Factor, Norm, NormKind, Op, Program, RopeTable, ScanSpec, TableRow,
};
use crate::model::{EncoderInput, GateKind, Places, Switch};
use crate::simd::add_scaled;

/// The activations of a chunk of tokens, by number; the token is the outermost dimension of each.
#[derive(Debug)]
pub(super) struct Activations {
    pub tokens: usize,
    pub values: Vec<Vec<f32>>,
}

impl Activations {
    /// Zeros for what the layers use; the head makes its own.
    pub fn new(program: &Program, tokens: usize) -> Self {
        Self::of(program, program.embed.iter().chain(program.layers.iter().flatten()), tokens)
    }

    /// Zeros for what these operations write.
    pub fn of<'p>(program: &Program, ops: impl IntoIterator<Item = &'p Op>, tokens: usize) -> Self {
        let mut values = vec![Vec::new(); program.activations.len()];
        for y in ops.into_iter().map(Op::writes) {
            values[y.0].resize(tokens * program.width(y), 0.0);
        }
        Self { tokens, values }
    }

    /// For the last chunk of a prompt, which may be shorter.
    pub fn resize(&mut self, program: &Program, tokens: usize) {
        if tokens != self.tokens {
            *self = Self::new(program, tokens);
        }
    }

    /// The last rows of what outlives the layers, and room for what the head computes from them.
    pub fn last(&self, rows: usize, program: &Program) -> Self {
        let mut made = Self::of(program, &program.head, rows);
        for x in program.lasting() {
            made.values[x.0] = self.values[x.0][(self.tokens - rows) * program.width(x)..].to_vec();
        }
        made
    }

    /// Takes an activation out, to be written while others are read; [`Activations::put`] brings it back.
    pub fn take(&mut self, y: Activation) -> Vec<f32> {
        std::mem::take(&mut self.values[y.0])
    }

    pub fn put(&mut self, y: Activation, values: Vec<f32>) {
        self.values[y.0] = values;
    }
}

/// Runs operations on the activations of a chunk.
pub(super) struct Interpreter<'a> {
    pub run: &'a mut Activations,
    /// The tokens.
    pub ids: &'a [u32],
    pub weights: &'a Weights,
    pub adapters: &'a [ActiveAdapter],
    pub tables: &'a [RopeTable],
    pub frequencies: &'a [Vec<f64>],
    pub cache: &'a mut [LayerCache],
    pub states: &'a mut [Vec<f32>],
    /// Position of the chunk's first token.
    pub position: usize,
    /// Positions at the start that the caches have forgotten: of a sound that goes on.
    pub forgotten: usize,
    /// Positions with several axes.
    pub places: &'a Places,
    /// Positions of rows that see each other.
    pub seen: Range<usize>,
    /// Whether only layers with a window let them.
    pub seen_in_windows: bool,
    /// The input of an encoder.
    pub input: Option<&'a EncoderInput>,
    /// What was rotated last, and the result.
    pub rotated: Option<[Activation; 2]>,
    /// The model's own adapters.
    pub switch: Option<&'a Switch>,
    /// The source of a decoder.
    pub source: &'a mut Source,
}

impl Interpreter<'_> {
    /// Runs one operation.
    pub async fn run(&mut self, op: &Op, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        match *op {
            Op::Embed { table, scale, y, .. } => self.embed(table, scale, y)?,
            Op::EmbedPlace { table, row, y } => {
                let rows: Vec<u32> = match row {
                    TableRow::First(_) => vec![0; self.ids.len()],
                    TableRow::Position(_) => (self.position as u32..).take(self.ids.len()).collect(),
                };
                self.weights.tensor(table).gather(&rows, &mut self.run.values[y.0])?;
            }
            Op::Pool { .. } | Op::Regroup { .. } => {} // the caller's: they change the number of rows
            Op::Input { .. } | Op::Copy { .. } | Op::Combine { .. } | Op::Angles { .. } => self.over_rows(op),
            Op::AddPlaces { .. } | Op::Break { .. } | Op::Turn { .. } | Op::AttendBlocks { .. } => self.of_encoder(op),
            Op::Project { x, weight, y } => self.project([x, y], weight, yield_now).await,
            Op::ConvAround { .. } | Op::ConvGrid { .. } => self.convolve(op),
            Op::Bound { .. } | Op::AttendNear { .. } | Op::AttendFar { .. } | Op::Repeat { .. } => self.of_encoder(op),
            Op::Norm { x, norm, y } => {
                let mut out = self.run.take(y);
                if x != y {
                    out.copy_from_slice(&self.run.values[x.0]);
                }
                match norm.is_grouped {
                    true => self.group_norm(&norm, &mut out),
                    false => self.norm(&norm, &mut out),
                }
                self.run.put(y, out);
            }
            Op::Linear { x, weight, bias, y } => {
                let mut out = self.run.take(y);
                self.weights.tensor(weight).apply(&self.run.values[x.0], &mut out, yield_now).await?;
                if let Some(bias) = bias.and_then(|bias| self.weights.vector(bias.key)) {
                    let rows = out.chunks_exact_mut(bias.len());
                    rows.flat_map(|row| row.iter_mut().zip(bias)).for_each(|(out, bias)| *out += bias);
                }
                let x = &self.run.values[self.rotated.filter(|[_, y]| *y == x).map_or(x, |[before, _]| before).0];
                self.adapt(weight, 0, (x, x.len() / self.run.tokens), |row| row, &mut out);
                self.run.put(y, out);
            }
            Op::HeadLinear { x, weight, heads, y } => self.head_linear([x, y], weight, heads, yield_now).await?,
            Op::HeadValues { x, weight, heads, rows, y } => self.head_values([x, y], weight, heads, rows),
            Op::JoinHeads { parts, heads, y } => {
                let mut out = self.run.take(y);
                let parts = parts.map(|of| self.run.values[of.0].as_slice());
                join_heads(parts, heads * self.run.tokens, &mut out);
                self.run.put(y, out);
            }
            Op::Streams { base, x, ref spec, y } => self.streams([base, x], spec, y),
            Op::Spread { x, kind } => self.spread(x, kind),
            Op::Hadamard { x, ref rotation, y } => self.hadamard([x, y], rotation),
            Op::Conv { x, gates, conv, state, y } => self.conv([x, y], gates, &conv, state),
            Op::Scan { z, dt, xbc, scan, state, y } => self.scan([z, dt, xbc, y], &scan, state),
            Op::ChannelScan { .. } => self.channel_scan(op),
            Op::Wkv { .. } => self.wkv(op, yield_now).await,
            Op::WkvOutput { .. } => self.wkv_output(op),
            Op::Lerp { .. } => self.lerp(op),
            Op::DeltaNet { qkv, beta, alpha, delta, state, y } => {
                self.delta_net([qkv, beta, alpha, y], &delta, state, yield_now).await;
            }
            Op::Rope { x, head_dim, table } => self.rotate(x, head_dim, table),
            Op::Attend { .. } | Op::AttendSource { .. } => self.attention(op, yield_now).await?,
            Op::AttendRows { .. } | Op::AttendGrid { .. } => self.attention(op, yield_now).await?,
            Op::Gate { gate, up, at, kind, y } => self.gate(kind, gate, (up, at), y),
            Op::Scale { x, factor } => {
                let factor = match factor {
                    Factor::Number(factor) => factor,
                    Factor::Weight(key) => self.weights.norm(key)[0],
                };
                self.run.values[x.0].iter_mut().for_each(|x| *x *= factor);
            }
            Op::GateHeads { x, gate, norm, y, .. } => {
                let mut out = self.run.take(y);
                out.copy_from_slice(&self.run.values[x.0]);
                let norm = norm.map(|(weight, eps)| (self.weights.norm(weight), eps));
                output_gate(&mut out, norm, &self.run.values[gate.0]);
                self.run.put(y, out);
            }
            Op::GateRow { x, gate } => {
                let mut out = self.run.take(x);
                let width = out.len() / self.run.tokens;
                for (row, gate) in out.chunks_exact_mut(width).zip(&self.run.values[gate.0]) {
                    row.iter_mut().for_each(|x| *x /= 1.0 + (-gate).exp());
                }
                self.run.put(x, out);
            }
            Op::Route { logits, ref routing, routes } => self.route(logits, routing, routes),
            Op::ExpertGate { .. } | Op::ExpertDown { .. } => self.experts(op, yield_now).await?,
            Op::Activate { x, kind } => self.run.values[x.0].iter_mut().for_each(|x| *x = activated(kind, *x)),
            Op::Add { x, scale, to } => {
                let mut sum = self.run.take(to);
                add_scaled(&mut sum, scale, &self.run.values[x.0]);
                self.run.put(to, sum);
            }
            Op::Switch { kind, y } => self.switch(kind, y),
            Op::Adapt { .. } => {} // products take adapters into account by themselves
            Op::SoftCap { x, cap } => self.run.values[x.0].iter_mut().for_each(|x| *x = cap * (*x / cap).tanh()),
        }
        Ok(())
    }

    /// `y = activation(gate) · up`, of the values of `up` from `at` on.
    fn gate(&mut self, kind: GateKind, gate: Activation, (up, at): (Activation, usize), y: Activation) {
        let mut out = self.run.take(y);
        out.copy_from_slice(&self.run.values[gate.0]);
        let [width, wide] = [out.len(), self.run.values[up.0].len()].map(|len| len / self.run.tokens);
        for (out, up) in out.chunks_exact_mut(width).zip(self.run.values[up.0].chunks_exact(wide)) {
            match kind {
                GateKind::SwiGlu => swiglu(out, &up[at..at + width]),
                GateKind::GeGlu => geglu(out, &up[at..at + width]),
            }
        }
        self.run.put(y, out);
    }

    fn norm(&self, norm: &Norm, values: &mut Vec<f32>) {
        if let Some((weight, eps)) = norm.plain_rms() {
            return rms_norm(values, self.weights.norm(weight), eps);
        }
        let shape = NormShape {
            width: norm.width,
            centred: norm.kind == NormKind::Layer,
            eps: norm.eps,
            weight: norm.weight.map(|weight| self.weights.norm(weight)),
            weight_offset: 0.0,
            bias: norm.bias.and_then(|bias| self.weights.vector(bias.key)),
        };
        *values = layer_norm(values, &shape);
    }

    /// An RMS norm of each of the parts of rows, with a weight of its own.
    fn group_norm(&self, norm: &Norm, values: &mut [f32]) {
        let weight = norm.weight.map_or(&[][..], |weight| self.weights.norm(weight));
        let shape = NormShape {
            width: norm.width,
            centred: norm.kind == NormKind::Layer,
            eps: norm.eps,
            weight: None,
            weight_offset: 0.0,
            bias: None,
        };
        for row in values.chunks_exact_mut(weight.len().max(1)) {
            for (part, weight) in row.chunks_exact_mut(norm.width).zip(weight.chunks_exact(norm.width)) {
                part.copy_from_slice(&layer_norm(part, &NormShape { weight: Some(weight), ..shape }));
            }
        }
    }

    fn conv(&mut self, [x, y]: [Activation; 2], gates: Option<[Activation; 2]>, conv: &ConvSpec, state: usize) {
        let values = &self.run.values;
        let mut input = values[x.0].clone();
        if let Some([b, _]) = gates {
            input.iter_mut().zip(&values[b.0]).for_each(|(x, b)| *x *= b);
        }
        let first: Vec<f32>;
        let weight = match conv.weight {
            Some(weight) => self.weights.norm(weight),
            // The first of the inputs.
            None => {
                let width = input.len() / self.run.tokens;
                first = (0..width * conv.kernel).map(|i| f32::from(i % conv.kernel == 0)).collect();
                &first
            }
        };
        let bias = conv.bias.and_then(|bias| self.weights.vector(bias.key)).unwrap_or_default();
        let channels = weight.len() / conv.kernel;
        // The results of the tokens `ahead` later.
        input.resize(input.len() + conv.ahead * channels, 0.0);
        let mut out = conv_causal(&input, weight, bias, &mut self.states[state], channels);
        out.drain(..conv.ahead * channels);
        if conv.silu {
            out.iter_mut().for_each(|y| *y = silu(*y));
        }
        if let Some([_, c]) = gates {
            out.iter_mut().zip(&values[c.0]).for_each(|(y, c)| *y *= c);
        }
        self.run.put(y, out);
    }

    fn scan(&mut self, [z, dt, xbc, y]: [Activation; 4], scan: &ScanSpec, state: usize) {
        let ScanSpec { heads, head_dim, state: size, groups, dt_bias, a, d } = *scan;
        let sizes = SsmSizes { heads, head_dim, state: size, groups };
        let [dt_bias, a, d] = [dt_bias, a, d].map(|key| self.weights.norm(key));
        let mut out = self.run.take(y);
        let [z, dt, xbc] = [z, dt, xbc].map(|of| &self.run.values[of.0]);
        let inputs = z.chunks_exact(scan.inner()).zip(dt.chunks_exact(heads)).zip(xbc.chunks_exact(scan.xbc_width()));
        for (y, ((z, dt), xbc)) in out.chunks_exact_mut(scan.inner()).zip(inputs) {
            ssm_scan(sizes, SsmToken { z, dt, xbc }, SsmHeads { dt_bias, a, d }, &mut self.states[state], y);
        }
        self.run.put(y, out);
    }

    /// Token by token: one takes a millisecond in a large model.
    async fn delta_net(
        &mut self,
        [qkv, beta, alpha, y]: [Activation; 4],
        delta: &DeltaSpec,
        state: usize,
        yield_now: &mut impl AsyncFnMut(),
    ) {
        let DeltaSpec { k_heads, v_heads, head_dim, tiled, eps, .. } = *delta;
        let shape = DeltaShape { k_heads, v_heads, head_dim, tiled, eps };
        let [dt_bias, a] = [delta.dt_bias, delta.a].map(|key| self.weights.norm(key));
        let mut out = self.run.take(y);
        let [qkv, beta, alpha] = [qkv, beta, alpha].map(|of| &self.run.values[of.0]);
        let state = &mut self.states[state][..delta.value_width() * head_dim];
        let gates = beta.chunks_exact(v_heads).zip(alpha.chunks_exact(v_heads));
        let tokens = qkv.chunks_exact(delta.qkv_width()).zip(gates);
        for (y, (qkv, (beta, alpha))) in out.chunks_exact_mut(delta.value_width()).zip(tokens) {
            delta_net(shape, &DeltaInputs { qkv, beta, alpha, dt_bias, a }, state, y);
            yield_now().await;
        }
        self.run.put(y, out);
    }

    fn rotate(&mut self, x: Activation, head_dim: usize, table: usize) {
        let values = &mut self.run.values[x.0];
        let width = values.len() / self.run.tokens;
        for (token, row) in values.chunks_exact_mut(width).enumerate() {
            let RopeTable { style, scaling, sections, first, .. } = self.tables[table];
            let (position, place) = (self.position + token, self.places.at(self.position + token));
            let axis = |pair: usize| sections.and_then(|sections| sections.axis(pair));
            let turned = |pair: usize| axis(pair).map_or(position, |axis| place[axis] as usize);
            rope_scaled(row, [head_dim, first], turned, (&self.frequencies[table], scaling.magnitude), style);
        }
    }
}
