//! Log-probabilities of the tokens of an answer.

use crate::kernels::reference::log_sum_exp;

/// A chosen token, and the tokens that were most likely in its place. Log-probabilities come from the softmax of the
/// model's logits, before bias, penalties, filters, temperature and grammar.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenToken {
    /// Id of the token.
    pub id: u32,
    /// Log-probability of the token.
    pub logprob: f32,
    /// Pairs of an id and its log-probability, the most likely first.
    pub top: Vec<(u32, f32)>,
}

impl ChosenToken {
    /// Token `id`, chosen from `logits` `[vocab]`, with the `count` most likely tokens. Of equals, the lower id comes
    /// first.
    pub fn new(id: u32, logits: &[f32], count: usize) -> Self {
        let sum = log_sum_exp(logits);
        let mut top: Vec<(u32, f32)> = Vec::with_capacity(count + 1);
        for (id, &logit) in (0..).zip(logits) {
            let is_below = |last: &(u32, f32)| logit > last.1;
            if top.len() < count || top.last().is_some_and(is_below) {
                let at = top.partition_point(|&(_, other)| other >= logit);
                top.insert(at, (id, logit));
                top.truncate(count);
            }
        }
        top.iter_mut().for_each(|(_, logit)| *logit -= sum);
        let logprob = logits.get(id as usize).map_or(f32::NEG_INFINITY, |logit| logit - sum);
        Self { id, logprob, top }
    }
}

#[cfg(test)]
mod tests {
    use crate::runtime::ChosenToken;

    #[test]
    fn the_most_likely_come_first() {
        let logits = [0.5f32, 2.0, -1.0, 2.0, 1.0];
        let sum: f32 = logits.iter().map(|logit| logit.exp()).sum();
        let found = ChosenToken::new(2, &logits, 3);
        assert!((found.logprob - ((-1f32).exp() / sum).ln()).abs() < 1e-6);
        assert_eq!(found.top.iter().map(|&(id, _)| id).collect::<Vec<_>>(), [1, 3, 4]);
        assert!((found.top[2].1 - (1f32.exp() / sum).ln()).abs() < 1e-6);
        assert_eq!(ChosenToken::new(1, &logits, 0).top, []);
        assert_eq!(ChosenToken::new(1, &logits, 20).top.len(), 5);
    }
}
