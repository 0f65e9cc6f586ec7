//! The attributes of operations with a recurrent state in a program.

use std::ops::RangeInclusive;

use super::WeightKey;
use super::program::Weight;
use crate::error::{Error, Result};

/// A causal depthwise convolution along the tokens of a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConvSpec {
    /// `[channels, kernel]`, with the token itself last; without weights the result is the input of the first of these
    /// tokens.
    pub weight: Option<WeightKey>,
    /// `[channels]`
    pub bias: Option<Weight>,
    /// Kernel size in tokens.
    pub kernel: usize,
    /// Tokens after a token that its result depends on; encoders may have some.
    pub ahead: usize,
    /// Whether SiLU is applied to the result.
    pub silu: bool,
}

impl ConvSpec {
    pub(super) fn check(&self) -> Result<()> {
        in_range("tokens of a convolution", self.kernel, 2..=MAX_CONV_KERNEL)
    }
}

/// The shape of one Mamba-2 layer, and the weights of its heads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanSpec {
    /// Heads, a multiple of `groups`.
    pub heads: usize,
    /// Values per head.
    pub head_dim: usize,
    /// State size of each value.
    pub state: usize,
    /// B and C are shared by `heads / groups` heads.
    pub groups: usize,
    /// `[heads]`: added to the time steps before softplus.
    pub dt_bias: WeightKey,
    /// `[heads]`: decay, below 0.
    pub a: WeightKey,
    /// `[heads]`: factor of x in the result (D).
    pub d: WeightKey,
}

impl ScanSpec {
    /// Values of all heads of a token.
    pub fn inner(&self) -> usize {
        self.heads * self.head_dim
    }

    pub(super) fn check(&self) -> Result<()> {
        in_range("heads of a scan", self.heads, 1..=usize::MAX)?;
        in_range("state of a scan", self.state, 1..=MAX_SCAN_STATE)?;
        if self.groups == 0 || !self.heads.is_multiple_of(self.groups) {
            let message = format!("{} heads of a scan do not divide among {} groups", self.heads, self.groups);
            return Err(Error::bad_file(message));
        }
        Ok(())
    }

    /// Values of x, B and C of a token.
    pub fn xbc_width(&self) -> usize {
        self.inner() + 2 * self.groups * self.state
    }
}

/// The shape of one Mamba layer, and the weights of its channels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChannelSpec {
    /// Channels.
    pub channels: usize,
    /// State size of each channel.
    pub state: usize,
    /// `[channels, state]`: decay, below 0.
    pub a: WeightKey,
    /// `[channels]`: factor of x in the result (D).
    pub d: WeightKey,
}

impl ChannelSpec {
    pub(super) fn check(&self) -> Result<()> {
        in_range("channels of a scan", self.channels, 1..=usize::MAX)?;
        in_range("state of a scan", self.state, 1..=MAX_SCAN_STATE)
    }
}

/// The heads of a gated delta rule, and their weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaSpec {
    /// Heads of q and of k.
    pub k_heads: usize,
    /// Heads of v, each with a state: a multiple of `k_heads`.
    pub v_heads: usize,
    /// Values per head.
    pub head_dim: usize,
    /// Head h of v goes with head h % `k_heads` of q and k, not with h / (`v_heads` / `k_heads`).
    pub tiled: bool,
    /// Epsilon, added to the squared lengths of q and k.
    pub eps: f32,
    /// `[v_heads]`: added to alpha before softplus.
    pub dt_bias: WeightKey,
    /// `[v_heads]`: decay, below 0.
    pub a: WeightKey,
}

impl DeltaSpec {
    /// Values of q, k and v of a token.
    pub fn qkv_width(&self) -> usize {
        (2 * self.k_heads + self.v_heads) * self.head_dim
    }

    /// Values of all heads of v of a token.
    pub fn value_width(&self) -> usize {
        self.v_heads * self.head_dim
    }

    /// Values of the states of a sequence: a square matrix for each head of v, with columns padded to whole vectors.
    pub fn state_len(&self) -> usize {
        self.value_width() * self.heads().padded() as usize
    }

    pub(super) fn check(&self) -> Result<()> {
        let Self { k_heads, v_heads, head_dim, .. } = *self;
        in_range("values of a head of a delta rule", head_dim, 1..=MAX_STATE_HEAD)?;
        if k_heads == 0 || !v_heads.is_multiple_of(k_heads) {
            return Err(Error::bad_file(format!("{v_heads} heads of v do not divide among {k_heads} heads of k")));
        }
        Ok(())
    }
}

/// The update rule of a head of RWKV's time mixing, and its weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WkvForm {
    /// RWKV-6, with a bonus `[heads, head_dim]` for the token itself.
    Bonus(WeightKey),
    /// Gated linear attention: keys are multiplied by 1 − decay, and r is divided by √head_dim.
    Gated,
    /// RWKV-7, with `[width]` each: factors of the removal key, and how much keys follow the learning rate.
    Delta([WeightKey; 2]),
}

/// The heads of RWKV's time mixing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WkvSpec {
    /// Heads of r, each with a state: a multiple of `kv_heads`.
    pub heads: usize,
    /// Heads of k and of v.
    pub kv_heads: usize,
    /// Values per head.
    pub head_dim: usize,
    /// The update rule.
    pub form: WkvForm,
}

impl WkvSpec {
    /// Values of all heads of a token.
    pub fn width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Values of the states of a sequence: a square matrix for each head, with rows padded to whole vectors.
    pub fn state_len(&self) -> usize {
        self.width() * self.shape().padded() as usize
    }

    pub(super) fn check(&self, width: usize) -> Result<()> {
        let Self { heads, kv_heads, head_dim, .. } = *self;
        in_range("values of a head of time mixing", head_dim, 1..=MAX_STATE_HEAD)?;
        if self.width() != width {
            return Err(Error::bad_file(format!("{width} values do not divide among heads of {head_dim}")));
        }
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(Error::bad_file(format!("{heads} heads of r do not divide among {kv_heads} heads of k")));
        }
        Ok(())
    }
}

/// The longest convolution, in tokens.
const MAX_CONV_KERNEL: usize = 16;
/// The largest state of a scan, in values per value of a head.
const MAX_SCAN_STATE: usize = 512;
/// The longest head of a delta rule, and of RWKV's time mixing.
const MAX_STATE_HEAD: usize = 256;

fn in_range(what: &str, found: usize, range: RangeInclusive<usize>) -> Result<()> {
    if range.contains(&found) {
        return Ok(());
    }
    let most = if *range.end() < usize::MAX { format!(" to {}", range.end()) } else { " or more".to_owned() };
    Err(Error::bad_file(format!("{what}: expected {}{most}, found {found}", range.start())))
}
