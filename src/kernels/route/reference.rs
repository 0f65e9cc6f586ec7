//! The choice of experts.

use crate::model::program::Gating;
use crate::sort::sorted_indices;

/// The smallest normal f16: weights that add up to less are not scaled up further.
const SMALLEST_SUM: f64 = 6.103515625e-5;

/// How the logits of a router become weights.
#[derive(Debug, Clone, Copy)]
pub struct Routing<'a> {
    /// Experts of a token.
    pub used: usize,
    /// How logits become weights.
    pub gating: Gating,
    /// Whether the weights of a token are divided by their sum.
    pub normalise: bool,
    /// What weights are multiplied by.
    pub scale: f32,
    /// What logits are multiplied by.
    pub logit_scale: f32,
    /// `[experts]`, added to the weights for the choice alone.
    pub bias: Option<&'a [f32]>,
    /// `[experts]`, what an expert's weight is multiplied by.
    pub expert_scales: Option<&'a [f32]>,
}

/// The experts of a token by its `logits` `[experts]`, best first, with their weights. Of equal experts the one with
/// the smaller number comes first.
pub fn route(routing: &Routing, logits: &[f32]) -> Vec<(usize, f32)> {
    let logits: Vec<f64> = logits.iter().map(|&logit| f64::from(logit) * f64::from(routing.logit_scale)).collect();
    let sigmoid = |logit: f64| 1.0 / (1.0 + (-logit).exp());
    let high = logits.iter().copied().fold(f64::MIN, f64::max);
    let shares: Vec<f64> = match routing.gating {
        Gating::Sigmoid => logits.iter().map(|&logit| sigmoid(logit)).collect(),
        Gating::Softmax | Gating::SoftmaxOfChosen => logits.iter().map(|logit| (logit - high).exp()).collect(),
    };
    let all: f64 = if routing.gating == Gating::Softmax { shares.iter().sum() } else { 1.0 };
    let score = |e: usize| match routing.bias {
        Some(bias) => shares[e] / all + f64::from(bias[e]),
        None => logits[e],
    };
    let mut order = sorted_indices(logits.len(), &mut |a, b| score(b) < score(a));
    order.truncate(routing.used);
    let chosen: f64 = order.iter().map(|&e| shares[e]).sum();
    let own = if routing.gating == Gating::SoftmaxOfChosen { chosen } else { all };
    let total = if routing.normalise { chosen.max(SMALLEST_SUM * own) } else { own };
    let weight = |e: usize| {
        let scale = f64::from(routing.scale) * routing.expert_scales.map_or(1.0, |scales| scales[e].into());
        (shares[e] / total * scale) as f32
    };
    order.into_iter().map(|e| (e, weight(e))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Routing = Routing {
        used: 2,
        gating: Gating::Softmax,
        normalise: false,
        scale: 1.0,
        logit_scale: 1.0,
        bias: None,
        expert_scales: None,
    };

    #[test]
    fn weights_are_shares_of_all_or_of_the_chosen() {
        let logits = [0.0, 3.0_f32.ln(), 4.0_f32.ln()];
        let near = |found: Vec<(usize, f32)>, expected: [(usize, f32); 2]| {
            let same = |(a, b): (&(usize, f32), &(usize, f32))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6;
            assert!(found.len() == 2 && found.iter().zip(&expected).all(same), "{found:?}, not {expected:?}");
        };
        near(route(&PLAIN, &logits), [(2, 0.5), (1, 0.375)]);
        let chosen = [(2, 4.0 / 7.0), (1, 3.0 / 7.0)];
        near(route(&Routing { normalise: true, ..PLAIN }, &logits), chosen);
        near(route(&Routing { gating: Gating::SoftmaxOfChosen, ..PLAIN }, &logits), chosen);
        let sigmoid = Routing { gating: Gating::Sigmoid, scale: 10.0, ..PLAIN };
        near(route(&sigmoid, &logits), [(2, 8.0), (1, 7.5)]);
    }

    #[test]
    fn a_bias_chooses_but_does_not_weigh() {
        let biased = Routing { used: 1, gating: Gating::Sigmoid, bias: Some(&[0.0, 2.0, 0.0]), ..PLAIN };
        assert_eq!(route(&biased, &[1.0, 0.0, 2.0]), [(1, 0.5)]);
        let scaled = Routing { expert_scales: Some(&[1.0, 3.0, 1.0]), ..biased };
        assert_eq!(route(&scaled, &[1.0, 0.0, 2.0]), [(1, 1.5)]);
    }

    #[test]
    fn of_equal_experts_the_first_comes_first() {
        let ids: Vec<usize> = route(&PLAIN, &[1.0; 5]).into_iter().map(|(e, _)| e).collect();
        assert_eq!(ids, [0, 1]);
    }
}
