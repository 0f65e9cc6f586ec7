//! DRY ("don't repeat yourself"), as llama.cpp has it: a token that would lengthen a repetition of the text is less
//! likely, the longer the repetition is.

use super::SamplingOptions;

/// A repetition begins anew behind these texts; llama.cpp's defaults.
pub const BREAKERS: &[&str] = &["\n", ":", "\"", "*"];

/// The largest exponent of e that f32 holds.
const MOST_EXPONENT: f32 = 88.722_84;

/// How many tokens the text has behind the last one with a part of the last breaker, which may be in several tokens.
pub fn since_breaker<'a>(text: &[u32], bytes: impl Fn(u32) -> &'a [u8], breakers: &[impl AsRef<str>]) -> usize {
    let longest = breakers.iter().map(|breaker| breaker.as_ref().len()).max().unwrap_or(0);
    // What stands behind the token that is looked at, as far as a breaker may go.
    let mut behind = Vec::new();
    for (count, &id) in text.iter().rev().enumerate() {
        let own = bytes(id).len();
        let joined = [bytes(id), behind.as_slice()].concat();
        let end_at = |at: usize| {
            let found = breakers.iter().map(|breaker| breaker.as_ref().as_bytes());
            found.filter(|breaker| joined[at..].starts_with(breaker)).map(|breaker| at + breaker.len()).max()
        };
        if let Some(end) = (0..own).filter_map(end_at).max() {
            return count - tokens_of(end.saturating_sub(own), &text[text.len() - count..], bytes);
        }
        behind = joined;
        behind.truncate(longest);
    }
    text.len()
}

/// How many tokens the first `length` bytes of a text are in.
fn tokens_of<'a>(length: usize, text: &[u32], bytes: impl Fn(u32) -> &'a [u8]) -> usize {
    let begins = text.iter().scan(0, |at, &id| Some(std::mem::replace(at, *at + bytes(id).len())));
    begins.take_while(|&begin| begin < length).count()
}

/// Lowers the logits of the tokens that would lengthen a repetition at the end of `text`. `free` says how many tokens
/// stand behind the last breaker of a text.
pub fn apply(logits: &mut [f32], text: &[u32], options: &SamplingOptions, free: impl Fn(&[u32]) -> usize) {
    let text = &text[text.len().saturating_sub(options.dry_penalty_last_n as usize)..];
    let allowed = options.dry_allowed_length as usize;
    if options.dry_multiplier == 0.0 || text.len() <= allowed {
        return;
    }
    let most = free(text);
    if most < allowed {
        return;
    }
    let base = options.dry_base;
    let most_power = if base > 1.000_001 { (MOST_EXPONENT / base.ln()) as usize } else { usize::MAX };
    // The length of the longest repetition that each id would lengthen, and 1.
    let mut longest = vec![0; logits.len()];
    for (distance, length) in repetitions(text).into_iter().enumerate().skip(1) {
        let length = length.min(most);
        // The token that followed the last time.
        if let Some(held) = longest.get_mut(text[text.len() - distance] as usize).filter(|_| length >= allowed) {
            *held = length.max(*held - usize::from(*held > 0)) + 1;
        }
    }
    for (logit, length) in logits.iter_mut().zip(longest) {
        if length > 0 {
            *logit -= options.dry_multiplier * base.powi((length - 1 - allowed).min(most_power) as i32);
        }
    }
}

/// For each distance, how many tokens at the end of the text also stand this far before it, in the same order: the
/// Z-function of the text read backwards (Gusfield 1997), whose effort is linear.
fn repetitions(text: &[u32]) -> Vec<usize> {
    let back = |i: usize| text[text.len() - 1 - i];
    let mut lengths = vec![0; text.len()];
    // The repetition that reaches farthest back: where it begins, and where it ends.
    let (mut from, mut to) = (0, 0);
    for distance in 1..text.len() {
        let mut length = if distance < to { (to - distance).min(lengths[distance - from]) } else { 0 };
        while distance + length < text.len() && back(length) == back(distance + length) {
            length += 1;
        }
        lengths[distance] = length;
        if distance + length > to {
            (from, to) = (distance, distance + length);
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> SamplingOptions {
        SamplingOptions { dry_multiplier: 0.8, ..Default::default() }
    }

    fn lowered(text: &[u32], options: &SamplingOptions) -> Vec<f32> {
        let mut logits = vec![0.0; 10];
        apply(&mut logits, text, options, |text| text.iter().rev().take_while(|id| **id != 9).count());
        logits.iter().map(|logit| -logit).collect()
    }

    /// What the definition says, for each id by itself.
    fn by_definition(text: &[u32], options: &SamplingOptions) -> Vec<f32> {
        let text = &text[text.len().saturating_sub(options.dry_penalty_last_n as usize)..];
        let most = text.iter().rev().take_while(|id| **id != 9).count();
        let allowed = options.dry_allowed_length as usize;
        let longest = |id: u32| {
            let ends = (1..text.len()).filter(|&at| text[at] == id);
            let same = |at: usize| text[..at].iter().rev().zip(text.iter().rev()).take_while(|(a, b)| a == b).count();
            ends.map(|at| same(at).min(most)).filter(|&length| length >= allowed).max()
        };
        let penalty = |length: usize| options.dry_multiplier * options.dry_base.powi((length - allowed) as i32);
        (0..10).map(|id| longest(id).map_or(0.0, penalty)).collect()
    }

    #[test]
    fn the_next_token_of_a_repetition_is_lowered_by_its_length() {
        let text = [1, 2, 3, 4, 5, 1, 2, 3];
        let found = lowered(&text, &options());
        assert_eq!(found[4], 0.8 * 1.75);
        assert_eq!(found.iter().filter(|value| **value != 0.0).count(), 1);
        assert_eq!(lowered(&[1, 2, 4, 1, 2], &options())[4], 0.8);
        assert_eq!(lowered(&[2, 4, 1, 2], &options())[4], 0.0);
        assert_eq!(lowered(&[], &options()), vec![0.0; 10]);
    }

    #[test]
    fn a_repetition_ends_at_a_breaker_and_at_the_last_tokens() {
        assert_eq!(lowered(&[1, 9, 3, 3, 4, 1, 9, 3, 3], &options())[4], 0.8);
        assert_eq!(lowered(&[9, 3, 4, 9, 3], &options())[4], 0.0);
        let few = SamplingOptions { dry_penalty_last_n: 4, ..options() };
        assert_eq!(lowered(&[1, 2, 3, 4, 5, 1, 2, 3], &few), vec![0.0; 10]);
    }

    #[test]
    fn a_breaker_may_be_in_one_token_or_in_several() {
        let since = |text: &[&'static str], breakers: &[&str]| {
            let ids: Vec<u32> = (0..text.len() as u32).collect();
            since_breaker(&ids, |id| text[id as usize].as_bytes(), breakers)
        };
        assert_eq!(since(&["a:", "b", "\n", "ab'", "c"], BREAKERS), 2);
        assert_eq!(since(&["a", "b"], BREAKERS), 2);
        assert_eq!(since(&["a", "*"], BREAKERS), 0);
        assert_eq!(since(&["a:", "b"], &[]), 2);
        assert_eq!(since(&["a", "###", "b"], &["##"]), 1);
        // The breaker begins in one token and ends in the middle of another.
        assert_eq!(since(&["User", ":x", "b", "c"], &["er:"]), 2);
        assert_eq!(since(&["a", "b", "c", "d", "e"], &["bcd"]), 1);
        assert_eq!(since(&["b", "", "cd", "e", "f"], &["bcd"]), 2);
        assert_eq!(since(&["b", "c", "x", "b", "c"], &["bcd"]), 5);
        // The last one counts, and of two that begin in one token the one that ends later.
        assert_eq!(since(&["ab", "c", "ab", "d", "e"], &["ab", "abd"]), 1);
    }

    #[test]
    fn it_is_what_the_definition_says() {
        let mut state = 7u32;
        for round in 0..400 {
            let mut random = |below: u32| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 16) % below
            };
            let kinds = 1 + random(4);
            let text: Vec<u32> = (0..random(60)).map(|_| if random(12) == 0 { 9 } else { random(kinds) }).collect();
            let options = SamplingOptions {
                dry_base: 1.0 + random(3) as f32 / 2.0,
                dry_allowed_length: random(4),
                dry_penalty_last_n: [u32::MAX, 20][random(2) as usize],
                ..options()
            };
            assert_eq!(lowered(&text, &options), by_definition(&text, &options), "round {round}: {text:?}");
        }
    }

    #[test]
    fn a_text_of_one_token_stays_finite() {
        let found = lowered(&[3; 5000], &options());
        assert!(found[3].is_finite() && found[3] > 1e30);
    }
}
