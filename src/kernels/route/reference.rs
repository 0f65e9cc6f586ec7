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
    /// Factor of weights.
    pub scale: f32,
    /// Factor of logits.
    pub logit_scale: f32,
    /// Groups of as many experts each, and how many of them may be chosen from: those whose two best add up to most.
    pub groups: [usize; 2],
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
        None if routing.groups[0] > 1 => shares[e] / all,
        None => logits[e],
    };
    let left = best_groups(routing.groups, &(0..logits.len()).map(score).collect::<Vec<f64>>());
    let score = |e: usize| if left[e] { score(e) } else { f64::MIN };
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

/// Whether each expert is of one of the groups whose experts may be chosen; of equal groups the first.
fn best_groups([groups, used]: [usize; 2], scores: &[f64]) -> Vec<bool> {
    let size = scores.len() / groups.max(1);
    let best_two = |group: &[f64]| {
        let mut best = [f64::NEG_INFINITY; 2];
        for &score in group {
            best = if score > best[0] { [score, best[0]] } else { [best[0], best[1].max(score)] };
        }
        best.iter().take(group.len()).sum::<f64>()
    };
    let sums: Vec<f64> = scores.chunks_exact(size.max(1)).map(best_two).collect();
    let before = |g: usize| (0..sums.len()).filter(|&o| sums[o] > sums[g] || sums[o] == sums[g] && o < g).count();
    (0..scores.len()).map(|e| groups <= 1 || before(e / size) < used).collect()
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
        groups: [1, 1],
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
    fn experts_are_of_the_groups_whose_best_two_are_the_best() {
        let logits = [3.0, -9.0, 2.0, 2.5, 2.4, 2.4];
        let ids = |groups| -> Vec<usize> {
            let grouped = Routing { groups, gating: Gating::Sigmoid, ..PLAIN };
            route(&grouped, &logits).into_iter().map(|(e, _)| e).collect()
        };
        assert_eq!([ids([3, 1]), ids([3, 2]), ids([3, 3])], [[4, 5], [3, 4], [0, 3]]);
    }

    #[test]
    fn of_equal_experts_the_first_comes_first() {
        let ids: Vec<usize> = route(&PLAIN, &[1.0; 5]).into_iter().map(|(e, _)| e).collect();
        assert_eq!(ids, [0, 1]);
    }
}
