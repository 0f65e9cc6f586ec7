//! Instructions to unpack and multiply a packed weight: what products of one row cost besides reading.
//!
//! Each number is the time of one `mat_vec` over 256 MiB on an H200 minus the time of its bytes, in instructions at the
//! card's peak (record of the first three days). For Q4_0 and Q8_0 in floats it equals the count in `quants.wgsl`: two
//! instructions to place a quant, one to multiply, the others for scales.

use crate::formats::GgmlType;

/// Hundredths of an instruction per weight, with x as floats and with x in int8 limbs.
const MEASURED: &[(GgmlType, [u64; 2])] = &[
    (GgmlType::Q4_0, [410, 145]),
    (GgmlType::Q4_1, [383, 137]),
    (GgmlType::Q5_0, [487, 210]),
    (GgmlType::Q5_1, [440, 170]),
    (GgmlType::Q8_0, [330, 185]),
    (GgmlType::Q4_K, [485, 235]),
    (GgmlType::Q5_K, [790, 247]),
    (GgmlType::Q6_K, [720, 250]),
];

/// Hundredths of an instruction for types that were measured only in limbs. Floats take 265 more, as for Q4_0.
const IN_LIMBS: &[(GgmlType, u64)] = &[
    (GgmlType::Q2_K, 340),
    (GgmlType::Q3_K, 430),
    (GgmlType::MXFP4, 370),
    (GgmlType::NVFP4, 420),
    (GgmlType::IQ4_NL, 410),
    (GgmlType::IQ4_XS, 470),
    (GgmlType::TQ2_0, 280),
    (GgmlType::TQ1_0, 280),
    (GgmlType::IQ3_XXS, 500),
    (GgmlType::IQ3_S, 700),
    (GgmlType::IQ2_XXS, 510),
    (GgmlType::IQ2_XS, 640),
    (GgmlType::IQ2_S, 670),
    (GgmlType::IQ1_S, 510),
    (GgmlType::IQ1_M, 740),
    (GgmlType::Q1_0, 280),
    (GgmlType::Q2_0, 280),
];

/// Hundredths of an instruction per weight of float types: half a conversion of two numbers, and the multiplication.
const FLOAT_TYPES: u64 = 150;

/// How x is represented in the products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Floats.
    Floats,
    /// Three int8 limbs.
    Limbs,
}

/// Instructions to unpack `weights` weights of a type, without the multiplication.
pub(super) fn instructions(ty: Option<GgmlType>, form: Form, weights: u64) -> u64 {
    hundredths(ty, form).saturating_sub(100) * weights / 100
}

fn hundredths(ty: Option<GgmlType>, form: Form) -> u64 {
    let Some(ty) = ty else { return FLOAT_TYPES };
    let measured = MEASURED.iter().find(|(of, _)| *of == ty).map(|(_, [floats, limbs])| (*floats, *limbs));
    let in_limbs = || IN_LIMBS.iter().find(|(of, _)| *of == ty).map(|(_, limbs)| (limbs + 265, *limbs));
    match (measured.or_else(in_limbs), form) {
        (Some((floats, _)), Form::Floats) => floats,
        (Some((_, limbs)), Form::Limbs) => limbs,
        (None, _) => FLOAT_TYPES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantised_type_has_a_number() {
        for ty in GgmlType::ALL.into_iter().filter(|ty| ty.is_quantised()) {
            let known = MEASURED.iter().any(|(of, _)| *of == ty) || IN_LIMBS.iter().any(|(of, _)| *of == ty);
            assert!(known, "{ty:?}");
        }
    }
}
