//! Which experts a token goes to, and with which weights (mixture of experts; Shazeer et al. 2017, arXiv 1701.06538).

pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};
use crate::model::program::Gating;

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Elements from one row of logits to the next.
        pub stride: u32,
        /// Element of a row where its logits start.
        pub offset: u32,
    }
}

/// The contract with `shaders/rare/model/route.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "route",
    bindings: &[PARAMS, read("logits"), read("bias"), read("expert_scales"), write("routes")],
    params: Params::LAYOUT,
    overrides: &[
        "WG_SIZE",
        "EXPERTS",
        "TOP",
        "GATING",
        "NORMALISE",
        "SCALE",
        "LOGIT_SCALE",
        "GROUPS",
        "USED_GROUPS",
        "BIAS",
        "EXPERT_SCALES",
    ],
};

pub use crate::model::program::{MAX_EXPERTS, MAX_USED};

/// How many experts there are, and how many of them a token goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Experts, at most [`MAX_EXPERTS`].
    pub experts: u32,
    /// Experts of a token, at most [`MAX_USED`].
    pub used: u32,
}

/// Logits → routes, for every row of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// Sizes.
    pub counts: Counts,
    /// How logits become weights.
    pub gating: Gating,
    /// Whether the weights of a token are divided by their sum.
    pub normalise: bool,
    /// Factor of weights.
    pub scale: f32,
    /// Factor of logits.
    pub logit_scale: f32,
    /// Groups of experts, and those whose experts may be chosen.
    pub groups: [u32; 2],
    /// `[experts]` f32, added to the weights for the choice alone.
    pub bias: Option<Slice>,
    /// `[experts]` f32, what an expert's weight is multiplied by.
    pub expert_scales: Option<Slice>,
    /// `[rows, params.stride]` f32
    pub logits: Slice,
    /// Where a row's logits are.
    pub params: Params,
    /// `[rows, 2 · used]`: ids, then the bits of f32 weights.
    pub routes: Slice,
}

/// The dispatch of `problem`; `dummy` is bound for what it does not use: 16 bytes, not `routes`.
pub fn route(dummy: Slice, problem: &Route) -> Dispatch {
    let Route { counts: Counts { experts, used }, bias, expert_scales, .. } = *problem;
    debug_assert!(experts as usize <= MAX_EXPERTS && used <= experts && used as usize <= MAX_USED);
    // Every choice is written by a thread of its own.
    let wg_size = experts.next_power_of_two().clamp(32, 256);
    let constants = [
        ("WG_SIZE", f64::from(wg_size)),
        ("EXPERTS", experts.into()),
        ("TOP", used.into()),
        ("GATING", f64::from(problem.gating as u32)),
        ("NORMALISE", bool_override(problem.normalise)),
        ("SCALE", problem.scale.into()),
        ("LOGIT_SCALE", problem.logit_scale.into()),
        ("GROUPS", problem.groups[0].into()),
        ("USED_GROUPS", problem.groups[1].into()),
        ("BIAS", bool_override(bias.is_some())),
        ("EXPERT_SCALES", bool_override(expert_scales.is_some())),
    ];
    let buffers = [problem.logits, bias.unwrap_or(dummy), expert_scales.unwrap_or(dummy), problem.routes];
    let grid = [Extent::PerRows(1), Extent::Fixed(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &problem.params, &buffers, grid)
}
