//! Attention over tensors of heads.

use super::rope::{HeadShape, Layout};
use super::{DType, Tape, Tensor};
use crate::kernels::attention_strided::MAX_HEAD_DIM;
use crate::kernels::attention_strided::{Params, Tensors, attention_strided};
use crate::{Error, Result};

/// Options of [`attention`].
#[derive(Debug, Clone, Default)]
pub struct AttentionOptions {
    /// Order of the axes of q, k, v and the result.
    pub layout: Layout,
    /// Query i attends to the keys up to i + keys − queries: the last query attends to all.
    pub causal: bool,
    /// Sliding window: causal, and a query attends to at most this many keys, the last ones up to its own.
    pub window: Option<u32>,
    /// Factor of scores; 1 / √dim if not given.
    pub scale: Option<f32>,
    /// Scores become softCap · tanh(score / softCap), before the mask is added.
    pub soft_cap: Option<f32>,
}

/// softmax(q·kᵀ·scale + mask)·v per head (flash attention, Dao et al. 2022, <https://arxiv.org/abs/2205.14135>).
///
/// q f32 `[batch, heads, queries, dim]`, k and v f32 or f16 `[batch, kv heads, keys, dim]` (see [`Layout`]; without the
/// batch axis there is one sequence, with two axes one head); the result is f32 and shaped like q. Query heads share
/// key heads in order where they are more. The mask, f32, is broadcast to `[batch, heads, queries, keys]`, whatever the
/// layout; a value below -1e38, such as -∞, masks a key. A query that attends to no key gets zeros.
///
/// # Errors
/// `invalid_argument` for shapes and types that do not fit, heads of more than 256 values, options that are not
/// positive.
pub fn attention(
    tape: &mut Tape,
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    mask: Option<&Tensor>,
    options: &AttentionOptions,
) -> Result<Tensor> {
    let (of_q, of_k) = sizes(q, k, v, options.layout)?;
    check_numbers(options)?;
    let [mask_batch, mask_head, mask_row, mask_key] = match mask {
        Some(mask) => mask_strides(mask, [of_q.batch, of_q.heads, of_q.positions, of_k.positions])?,
        None => [0; 4],
    };
    let y = tape.output(DType::F32, &q.shape)?;
    let [q_batch, q_head, q_row] = options.layout.strides(of_q);
    let [kv_batch, kv_head, kv_row] = options.layout.strides(of_k);
    let params = Params {
        batch: of_q.batch,
        heads: of_q.heads,
        group: of_q.heads / of_k.heads,
        queries: of_q.positions,
        keys: of_k.positions,
        q_batch,
        q_head,
        q_row,
        kv_batch,
        kv_head,
        kv_row,
        masked: mask.is_some().into(),
        mask_batch,
        mask_head,
        mask_row,
        mask_key,
        causal: (options.causal || options.window.is_some()).into(),
        window: options.window.unwrap_or(0),
        scale: options.scale.unwrap_or((of_q.dim as f32).sqrt().recip()),
        soft_cap: options.soft_cap.unwrap_or(0.0),
    };
    let tensors = Tensors {
        q: q.slice(),
        k: k.slice(),
        v: v.slice(),
        half: k.dtype == DType::F16,
        mask: mask.map_or(tape.dummy(), Tensor::slice),
        y: y.slice(),
    };
    tape.push(attention_strided(of_q.dim, &params, &tensors));
    Ok(y)
}

/// The sizes of q and of k and v, once they fit each other.
fn sizes(q: &Tensor, k: &Tensor, v: &Tensor, layout: Layout) -> Result<(HeadShape, HeadShape)> {
    let bad = |why: &str| {
        let [q, k, v] = [q, k, v].map(Tensor::describe);
        Err(Error::invalid_argument(format!("attention: q is {q}, k {k} and v {v}; {why}")))
    };
    let same_rank = q.shape.len() == k.shape.len();
    let (Some(of_q), Some(of_k)) = (layout.sizes(&q.shape), layout.sizes(&k.shape).filter(|_| same_rank)) else {
        return bad("each needs the same 2 to 4 axes");
    };
    if q.dtype != DType::F32 || !matches!(k.dtype, DType::F32 | DType::F16) || k.dtype != v.dtype {
        return bad("q has to be f32, k and v both f32 or both f16");
    }
    if k.shape != v.shape {
        return bad("k and v need the same shape");
    }
    if of_q.dim != of_k.dim || of_q.batch != of_k.batch || of_q.dim > MAX_HEAD_DIM {
        return bad("batches and dimensions have to be equal, and heads of at most 256 values");
    }
    if !of_q.heads.is_multiple_of(of_k.heads) {
        return bad("the heads of q have to be a multiple of those of k");
    }
    Ok((of_q, of_k))
}

fn check_numbers(options: &AttentionOptions) -> Result<()> {
    let positive = |name: &str, number: Option<f32>| match number {
        Some(number) if !(number.is_finite() && number > 0.0) => {
            Err(Error::invalid_argument(format!("attention: {name} is {number}, it must be a positive number")))
        }
        _ => Ok(()),
    };
    positive("scale", options.scale)?;
    positive("softCap", options.soft_cap)?;
    positive("window", options.window.map(|window| window as f32))
}

/// The strides of a mask that is broadcast to `[batch, heads, queries, keys]`: 0 where it repeats.
fn mask_strides(mask: &Tensor, full: [u32; 4]) -> Result<[u32; 4]> {
    let fits = |(size, full): (&u32, &u32)| size == full || *size == 1;
    let skipped = 4usize.checked_sub(mask.shape.len());
    let Some(skipped) = skipped.filter(|&at| mask.shape.iter().zip(&full[at..]).all(fits)) else {
        let message = format!("attention: the mask is {}; it has to broadcast to {full:?}", mask.describe());
        return Err(Error::invalid_argument(message));
    };
    if mask.dtype != DType::F32 {
        return Err(Error::invalid_argument(format!("attention: the mask is {}; f32 is needed", mask.describe())));
    }
    let mut strides = [0; 4];
    let mut stride = 1;
    for (to, &size) in strides[skipped..].iter_mut().zip(&mask.shape).rev() {
        if size > 1 {
            *to = stride;
        }
        stride *= size;
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    fn message(shapes: [&[u32]; 3], mask: Option<&[u32]>, options: &AttentionOptions) -> String {
        let mut tape = Tape::new(Caps::baseline());
        let [q, k, v] = shapes.map(|shape| tape.output(DType::F32, shape).unwrap());
        let mask = mask.map(|shape| tape.output(DType::F32, shape).unwrap());
        attention(&mut tape, &q, &k, &v, mask.as_ref(), options).unwrap_err().message().to_owned()
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let plain = AttentionOptions::default();
        let k: &[u32] = &[1, 2, 7, 64];
        let found = message([&[1, 4, 5, 32], k, k], None, &plain);
        assert!(found.contains("q is [1, 4, 5, 32] f32, k [1, 2, 7, 64] f32"), "{found}");
        assert!(message([&[1, 3, 5, 64], k, k], None, &plain).contains("multiple"));
        assert!(message([&[4, 5, 64], k, k], None, &plain).contains("same 2 to 4 axes"));
        assert!(message([&[1, 4, 5, 64], k, &[1, 2, 8, 64]], None, &plain).contains("k and v need the same shape"));
        let found = message([&[1, 4, 5, 64], k, k], Some(&[5, 8]), &plain);
        assert!(found.contains("[5, 8] f32; it has to broadcast to [1, 4, 5, 7]"), "{found}");
        let none = AttentionOptions { window: Some(0), ..plain };
        assert!(message([&[1, 4, 5, 64], k, k], None, &none).contains("window is 0"));
    }

    #[test]
    fn masks_repeat_where_they_have_one_row() {
        let mut tape = Tape::new(Caps::baseline());
        let mask = tape.output(DType::F32, &[3, 1, 7]).unwrap();
        assert_eq!(mask_strides(&mask, [2, 3, 5, 7]), Ok([0, 7, 0, 1]));
    }
}
