//! Decides when the passes of a text have drafts.
//!
//! The GPU finds drafts in the text, but a pass with a draft takes longer than one of a single token. So the host
//! checks first: once the text has predicted some tokens in a row, passes have drafts, as long as enough of these are
//! right. Where drafts did not pay off, more tokens must be predicted before they start again. A model that drafts
//! predicts nothing beforehand: it starts at once, and after a pause of some tokens again.

use super::drafting::Drafting;
use crate::kernels::accept_drafts::reference::{draft_after, place_after};
use crate::kernels::accept_drafts::{DRAFT_ROWS, FEW_DRAFT_ROWS, words_of_text};

/// Upper limit of the number of tokens in a row that must be predicted before passes have drafts.
const PREDICTED_MOST: u32 = 96;
/// Number of tokens that a model's drafts pause for at least, where they did not pay off.
const PAUSE: u32 = 16;
/// The same at most, where nobody has asked for drafts: each try takes two waits for the GPU.
const PAUSE_MOST: u32 = 1024;
/// Average number of tokens per pass below which drafts do not pay off.
const LEAST_RATE: f32 = 1.3;
/// Average number of tokens per pass below which passes with drafts of a model have [`FEW_DRAFT_ROWS`]: on an H200 they
/// take two thirds of the time of [`DRAFT_ROWS`].
const FEW_RIGHT: f32 = 3.0;
/// The same, from which they have [`DRAFT_ROWS`]: of the few nearly all were right.
const MANY_RIGHT: f32 = 3.75;
/// Number of tokens that drafts must have gained to count as having paid off.
const GOOD_GAIN: usize = 16;
/// Number of tokens at the end of the text in which the host looks; the GPU looks in all.
const LOOK_BACK: usize = 1 << 14;
/// Number of tokens that drafts must have gained before a grammar refused one, lest they wait longer the next time.
const LITTLE_GAIN: usize = 4;
/// Number of tokens read in the middle of a text, up to which it is looked whether they were predicted.
const FOLLOWED: usize = 64;
/// Separates a prediction from the text; it is the id of no token.
const GAP: u32 = u32::MAX;

/// The drafts of a run.
#[derive(Debug)]
pub(in crate::runtime) struct Drafts {
    drafting: Drafting,
    /// Whether a model makes the drafts.
    by_model: bool,
    /// Ids of the prediction, [`GAP`], and the text of the run.
    ids: Vec<u32>,
    /// Index in `ids` where the text of the run begins.
    start: usize,
    /// Index in `ids` of the token predicted to come next, if any.
    source: Option<usize>,
    predicted: u32,
    needed: u32,
    is_on: bool,
    /// Whether tokens of the answer came.
    has_begun: bool,
    /// Moving average of the number of tokens per pass with a draft.
    rate: f32,
    /// Whether passes of this text alone have few rows.
    is_few: bool,
    /// Number of tokens gained since passes last began to have drafts.
    gained: usize,
    alone: Clock,
    together: Clock,
    /// Milliseconds per token without drafts.
    alone_ms: Option<f64>,
    /// Number of texts in the passes.
    company: usize,
    /// Number of draft tokens in the run, and how many of them were right.
    pub drafted: usize,
    pub accepted: usize,
}

impl Drafts {
    /// Makes the drafts of a run with this prompt. Up to `most` ids of `prediction` are used.
    pub fn new(drafting: Drafting, (prediction, most): (&[u32], usize), prompt: &[u32]) -> Self {
        let mut ids = prediction[..prediction.len().min(most)].to_vec();
        ids.push(GAP);
        let start = ids.len();
        ids.extend_from_slice(prompt);
        Self {
            drafting,
            by_model: false,
            ids,
            start,
            source: None,
            predicted: 0,
            needed: drafting.predicted(),
            is_on: false,
            has_begun: false,
            rate: 0.0,
            is_few: false,
            gained: 0,
            alone: Clock::default(),
            together: Clock::default(),
            alone_ms: None,
            company: 1,
            drafted: 0,
            accepted: 0,
        }
    }

    /// The same, made by a model or not.
    pub fn by_model(self, by_model: bool) -> Self {
        Self { by_model, is_few: by_model, ..self }
    }

    /// Whether a model makes the drafts.
    pub fn is_of_model(&self) -> bool {
        self.by_model
    }

    /// Whether passes should have drafts now.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether the lists for passes with drafts should be made before the first token.
    pub fn is_certain(&self) -> bool {
        self.drafting != Drafting::Automatic
    }

    /// Rows that a pass of this text alone should have.
    pub fn rows(&self) -> usize {
        if self.is_few { FEW_DRAFT_ROWS } else { DRAFT_ROWS }
    }

    /// Number of tokens that a model should draft for the next pass: more as long as all are right.
    pub fn steps(&self) -> usize {
        (self.rate as usize + 1).clamp(2, self.rows() - 1)
    }

    /// The tokens before `position`; `None` where some are not known.
    pub fn text(&self, position: usize) -> Option<&[u32]> {
        self.ids.get(self.start..self.start + position).filter(|ids| !ids.contains(&GAP))
    }

    /// Number of tokens that a pass with a draft is likely to give.
    pub fn likely(&self) -> usize {
        (self.rate as usize).clamp(1, DRAFT_ROWS)
    }

    /// Records that the text has these tokens at `position` and after. In the middle of an answer, what was known past
    /// them is no part of the text: a grammar has refused it.
    pub fn read(&mut self, ids: &[u32], position: usize) {
        let (at, goes_on) = (self.start + position, self.has_begun && ids.len() <= FOLLOWED);
        if self.is_on {
            self.refuse(self.ids.len().saturating_sub(at + ids.len()));
        }
        if self.is_on || !goes_on {
            self.alone = Clock::default();
        }
        let known = self.ids.iter().skip(at).zip(ids).take_while(|(known, id)| known == id).count();
        self.ids.resize(at + known, GAP);
        (self.is_on, self.source) = (false, self.foreseen());
        if goes_on {
            return ids[known..].iter().for_each(|&id| self.follow(id));
        }
        self.ids.extend_from_slice(&ids[known..]);
        (self.predicted, self.source) = (0, self.foreseen());
    }

    /// Ends drafts at a token that a grammar refused; `dropped` tokens are no part of the text.
    fn refuse(&mut self, dropped: usize) {
        self.accepted = self.accepted.saturating_sub(dropped);
        self.gained = self.gained.saturating_sub(dropped);
        if self.gained < LITTLE_GAIN {
            self.end();
        }
        self.predicted = self.gained as u32;
    }

    /// Adds a token to the text, and looks whether it was predicted.
    fn follow(&mut self, id: u32) {
        let hit = self.source.filter(|&at| self.ids[at] == id);
        self.ids.push(id);
        self.predicted = if hit.is_some() || self.by_model { self.predicted + 1 } else { 0 };
        self.source = hit.map(|at| at + 1).or_else(|| self.foreseen());
    }

    /// Records a token that came without a draft. `now` is in milliseconds.
    pub fn took(&mut self, id: u32, now: f64) {
        self.has_begun = true;
        self.follow(id);
        self.alone.take(1, now);
        if self.predicted < self.needed {
            return;
        }
        self.alone_ms = self.alone.of_token().or(self.alone_ms);
        // Without that time nothing would tell whether drafts pay off.
        if self.alone_ms.is_some() || self.is_certain() {
            self.average(if self.by_model { 2.0 } else { DRAFT_ROWS as f32 / 2.0 });
            (self.is_on, self.gained) = (true, 0);
            self.together = Clock::default();
        }
    }

    /// Records the tokens of a pass that had `drafted` draft tokens. `now` is in milliseconds.
    pub fn took_draft(&mut self, ids: &[u32], drafted: usize, now: f64) {
        let right = ids.len().saturating_sub(1);
        self.ids.extend_from_slice(ids);
        self.drafted += drafted;
        self.accepted += right;
        self.gained += right;
        self.average(self.rate + (ids.len() as f32 - self.rate) / 4.0);
        self.together.take(ids.len(), now);
        if !self.pays_off() {
            self.end();
        }
    }

    /// Sets the average number of tokens per pass.
    fn average(&mut self, rate: f32) {
        let least = if self.is_few { MANY_RIGHT } else { FEW_RIGHT };
        (self.rate, self.is_few) = (rate, self.by_model && rate < least);
    }

    /// Whether a token takes longer with drafts than without.
    fn is_slower(&self) -> bool {
        self.together.of_token().zip(self.alone_ms).is_some_and(|(with, without)| with > without)
    }

    fn pays_off(&self) -> bool {
        self.rate >= LEAST_RATE && (self.is_certain() || !self.is_slower())
    }

    /// Ends drafts that do not pay off.
    fn end(&mut self) {
        let is_good = self.gained >= GOOD_GAIN && !self.is_slower();
        let pause = if self.by_model { PAUSE } else { 0 };
        let more = match self.by_model && !self.is_certain() {
            true => PAUSE_MOST.min(4 * self.needed),
            false => PREDICTED_MOST.min(2 * self.needed),
        };
        let more = more.max(pause);
        self.needed = if is_good { self.drafting.predicted().max(pause) } else { more };
        (self.is_on, self.predicted, self.source) = (false, 0, self.foreseen());
        self.alone = Clock::default();
    }

    /// Notes that passes have `company` texts now, and `width` rows of this one. With other texts in them they take
    /// another time.
    pub fn settle(&mut self, company: usize, width: usize) {
        if self.company != company {
            self.company = company;
            (self.alone, self.together, self.alone_ms) = Default::default();
        }
        if width > 1 {
            self.rate = self.rate.min(width as f32);
        }
    }

    /// Turns drafts off until the next token has come without one.
    pub fn postpone(&mut self) {
        (self.is_on, self.predicted) = (false, self.needed.saturating_sub(1));
    }

    /// Index in `ids` of the token that the last ids predict, if any.
    fn foreseen(&self) -> Option<usize> {
        if self.by_model {
            return None;
        }
        let from = self.ids.len().saturating_sub(LOOK_BACK);
        place_after(&self.ids[from..]).map(|at| from + at)
    }

    /// The tokens that may come next, as far as the text tells.
    pub fn next(&self) -> Vec<u32> {
        if self.by_model {
            return Vec::new();
        }
        draft_after(&self.ids, DRAFT_ROWS - 1)
    }

    /// The text in which the GPU finds drafts, in the layout of its buffer.
    pub fn words(&self) -> Vec<u32> {
        words_of_text(self.start, &self.ids)
    }
}

/// Measures the time per token, not counting the first pass.
#[derive(Debug, Default)]
struct Clock {
    first: Option<f64>,
    last: f64,
    tokens: usize,
}

impl Clock {
    /// Number of tokens below which a measurement says nothing.
    const ENOUGH: usize = 16;
    /// Number of tokens after which the measurement starts anew.
    const MOST: usize = 256;

    fn take(&mut self, tokens: usize, now: f64) {
        match self.first {
            Some(_) if self.tokens < Self::MOST => self.tokens += tokens,
            _ => (self.first, self.tokens) = (Some(now), 0),
        }
        self.last = now;
    }

    fn of_token(&self) -> Option<f64> {
        let since = self.first.filter(|_| self.tokens >= Self::ENOUGH)?;
        Some((self.last - since) / self.tokens as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(drafting: Drafting, prompt: &[u32]) -> Drafts {
        let mut drafts = Drafts::new(drafting, (&[], 0), prompt);
        drafts.read(prompt, 0);
        drafts.alone_ms = Some(1.0);
        drafts
    }

    #[test]
    fn drafts_begin_once_it_is_known_what_a_token_takes() {
        for (drafting, tokens) in [(Drafting::Automatic, 17), (Drafting::Prompt, 5)] {
            let mut drafts = Drafts { alone_ms: None, ..of(drafting, &[1, 2, 3]) };
            let begun = (1..).find(|&at| {
                drafts.took(5, f64::from(at));
                drafts.is_on()
            });
            assert_eq!(begun, Some(tokens));
        }
    }

    #[test]
    fn drafts_begin_once_the_text_predicts_tokens_in_a_row() {
        let prompt: Vec<u32> = (0..40).collect();
        let mut drafts = of(Drafting::Automatic, &prompt);
        // The first two tokens are read before anything is predicted.
        for id in 10..18 {
            assert!(!drafts.is_on(), "at {id}");
            drafts.took(id, 0.0);
        }
        assert!(drafts.is_on());
        assert_eq!(drafts.next()[..3], [18, 19, 20]);
        let mut sure = of(Drafting::Prompt, &prompt);
        (10..14).for_each(|id| sure.took(id, 0.0));
        assert!(sure.is_on(), "where that is wanted, after two");
        let mut other = of(Drafting::Automatic, &prompt);
        // Every third token differs from the prompt.
        (10..39).for_each(|id| other.took(if id % 3 == 0 { 100 + id } else { id }, 0.0));
        assert!(!other.is_on());
    }

    #[test]
    fn drafts_end_where_few_are_right_and_then_take_more() {
        let mut drafts = of(Drafting::Automatic, &[1, 2, 3]);
        let again = |drafts: &mut Drafts, id: u32| {
            (1..).find(|_| {
                drafts.took(id, 0.0);
                drafts.is_on()
            })
        };
        // Three tokens are read before anything is predicted.
        assert_eq!(again(&mut drafts, 5), Some(3 + 6));
        drafts.took_draft(&[5; 8], 7, 0.0);
        assert!(drafts.is_on());
        let passes = (1..).find(|_| {
            drafts.took_draft(&[6], 7, 0.0);
            !drafts.is_on()
        });
        assert_eq!(passes, Some(10), "from an average of 5");
        assert_eq!((drafts.drafted, drafts.accepted), (77, 7));
        assert_eq!(again(&mut drafts, 7), Some(3 + 12), "7 tokens were gained");
        (0..3).for_each(|_| drafts.took_draft(&[7; 8], 7, 0.0));
        while drafts.is_on() {
            drafts.took_draft(&[6], 7, 0.0);
        }
        assert_eq!(again(&mut drafts, 8), Some(3 + 6), "a good stay");
    }

    #[test]
    fn passes_have_few_rows_where_few_drafts_are_right() {
        let rows = |drafts: &mut Drafts, right: usize| {
            drafts.took_draft(&[5; DRAFT_ROWS][..right], 7, 0.0);
            drafts.rows()
        };
        let right = [4, 4, 4, 4, 4, 4, 4, 4, 1, 1, 4, 3];
        let mut drafts = of(Drafting::Model, &[1, 2, 3]).by_model(true);
        drafts.took(5, 0.0);
        assert_eq!(right.map(|right| rows(&mut drafts, right)), [4, 4, 4, 4, 4, 4, 4, 8, 8, 4, 4, 4], "from 2 on");
        let mut drafts = of(Drafting::Prompt, &[1, 2, 3]);
        (0..5).for_each(|_| drafts.took(5, 0.0));
        assert_eq!(right.map(|right| rows(&mut drafts, right)), [8; 12], "from the text");
    }

    #[test]
    fn drafts_that_take_longer_end() {
        for (drafting, is_on) in [(Drafting::Automatic, false), (Drafting::Prompt, true)] {
            let mut drafts = of(drafting, &[1, 2, 3]);
            drafts.needed = 30;
            let mut now = 0.0;
            while !drafts.is_on() {
                now += 1.0;
                drafts.took(5, now);
            }
            for _ in 0..8 {
                now += 7.9;
                drafts.took_draft(&[5; 8], 7, now);
            }
            assert!(drafts.is_on(), "a little faster");
            for _ in 0..4 {
                now += 9.0;
                drafts.took_draft(&[5; 8], 7, now);
            }
            assert_eq!(drafts.is_on(), is_on, "{drafting:?}");
        }
    }

    #[test]
    fn a_model_drafts_at_once_and_pauses_where_few_are_right() {
        for (drafting, tokens) in [(Drafting::Model, 1), (Drafting::Automatic, 17)] {
            let mut drafts = Drafts::new(drafting, (&[], 0), &[1, 2, 3]).by_model(true);
            drafts.read(&[1, 2, 3], 0);
            let begin = |drafts: &mut Drafts| {
                (10..).find(|&id| {
                    drafts.took(id, f64::from(id));
                    drafts.is_on()
                })
            };
            assert_eq!(begin(&mut drafts), Some(9 + tokens), "{drafting:?}");
            assert_eq!((drafts.next(), drafts.steps()), (vec![], 3), "the model makes them");
            assert_eq!(drafts.rows(), 4, "few may be right");
            for _ in 0..30 {
                let right = drafts.steps() + 1;
                drafts.took_draft(&[5; DRAFT_ROWS][..right], right - 1, 0.0);
            }
            assert_eq!((drafts.is_on(), drafts.steps(), drafts.rows()), (true, 7, 8), "more, as all are right");
            let mut passes = 0;
            while drafts.is_on() {
                drafts.took_draft(&[6], drafts.steps(), 0.0);
                passes += 1;
            }
            assert_eq!((passes, drafts.steps()), (11, 2), "fewer, as none is right");
            assert_eq!(begin(&mut drafts), Some(9 + PAUSE), "most were right");
            while drafts.is_on() {
                drafts.took_draft(&[6], drafts.steps(), 0.0);
            }
            let times = if drafting == Drafting::Model { 2 } else { 4 };
            assert_eq!(begin(&mut drafts), Some(9 + times * PAUSE), "none was right");
            drafts.postpone();
            assert!(!drafts.is_on());
            assert_eq!(begin(&mut drafts), Some(10), "after a token");
        }
    }

    #[test]
    fn a_model_reads_the_text_that_is_known() {
        let mut drafts = Drafts::new(Drafting::Model, (&[7, 8], 2), &[1, 2]).by_model(true);
        drafts.read(&[1, 2], 0);
        drafts.took(9, 0.0);
        assert_eq!(drafts.text(3), Some(&[1, 2, 9][..]), "without the prediction");
        assert_eq!(drafts.text(4), None);
        drafts.read(&[4], 5);
        assert_eq!((drafts.text(6), drafts.text(3)), (None, Some(&[1, 2, 9][..])));
    }

    #[test]
    fn drafts_go_on_after_a_token_that_a_grammar_refused() {
        let text: Vec<u32> = (0..40).collect();
        let mut drafts = of(Drafting::Prompt, &text);
        let begin = |drafts: &mut Drafts, from: u32| {
            (from..).find(|&id| {
                drafts.took(id, 0.0);
                drafts.is_on()
            })
        };
        assert_eq!(begin(&mut drafts, 10), Some(13), "two tokens are read before anything is predicted");
        drafts.took_draft(&[14, 15, 16, 17, 18, 19, 20, 21], 7, 0.0);
        // Token 20 was refused, and 50 was drawn in its place.
        drafts.read(&[19], 40 + 9);
        assert!(!drafts.is_on());
        assert_eq!((drafts.accepted, drafts.next()[..2].to_vec()), (5, vec![20, 21]));
        drafts.took(50, 0.0);
        assert!(!drafts.is_on(), "which was not predicted");
        assert_eq!(begin(&mut drafts, 20), Some(23));
        drafts.took_draft(&[24, 25, 26], 7, 0.0);
        drafts.read(&[23], 40 + 10 + 4);
        assert_eq!(
            drafts.text(40 + 15).map(|ids| ids[40..].to_vec()),
            Some(vec![10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 50, 20, 21, 22, 23])
        );
        assert_eq!(begin(&mut drafts, 24), Some(27), "all were refused: it takes four");
    }

    #[test]
    fn a_token_that_is_read_again_counts_once() {
        let mut drafts = of(Drafting::Automatic, &(0..40).collect::<Vec<_>>());
        for id in 10..17 {
            drafts.took(id, 0.0);
            // The next one has a mask of its own, for which the last one is read again.
            drafts.read(&[id], 40 + id as usize - 10);
            assert!(!drafts.is_on(), "at {id}");
        }
        // Forced tokens count as well.
        drafts.read(&[17], 40 + 7);
        drafts.took(18, 0.0);
        assert!(drafts.is_on());
    }

    #[test]
    fn a_prediction_stands_before_the_text() {
        let mut drafts = Drafts::new(Drafting::Automatic, (&[7, 8, 9, 10], 3), &[1, 2]);
        drafts.read(&[1, 2], 0);
        assert_eq!(drafts.words(), [4, 7, 8, 9, GAP, 1, 2]);
        drafts.took(7, 0.0);
        drafts.took(8, 0.0);
        assert_eq!(drafts.next()[..2], [9, GAP]);
        drafts.read(&[3], 1);
        assert_eq!(drafts.words(), [4, 7, 8, 9, GAP, 1, 3], "a text that goes on from within");
        drafts.read(&[4], 3);
        assert_eq!(drafts.words(), [4, 7, 8, 9, GAP, 1, 3, GAP, 4], "what is not known");
    }

    /// Whatever a lane's company is, drafts that lose are off within 64 tokens.
    #[test]
    fn drafts_that_lose_are_off_within_64_tokens() {
        for (width, right) in [(8, 0), (3, 0), (2, 0), (8, 3), (2, 1)] {
            let mut drafts = of(Drafting::Automatic, &[1, 2, 3]);
            let mut now = 0.0;
            while !drafts.is_on() {
                now += 1.0;
                drafts.took(5, now);
            }
            drafts.alone_ms = Some(1.0);
            drafts.settle(1, width);
            let mut tokens = 0;
            while drafts.is_on() {
                // A pass takes more than its tokens would take without drafts.
                now += 1.2 * (1 + right) as f64;
                drafts.took_draft(&[5; 8][..=right], width - 1, now);
                tokens += 1 + right;
            }
            assert!(tokens <= 64, "{width} rows, {right} right: {tokens} tokens");
        }
    }

    #[test]
    fn other_texts_in_the_passes_change_what_a_token_takes() {
        let mut drafts = of(Drafting::Automatic, &[1, 2, 3]);
        (0..40).for_each(|at| drafts.took(5, f64::from(at)));
        assert!(drafts.is_on());
        drafts.settle(4, 2);
        // Each pass is of four texts now, and slower than one of this text alone was.
        (0..40).for_each(|at| drafts.took_draft(&[5; 2], 1, 40.0 + 3.0 * f64::from(at)));
        assert!(drafts.is_on(), "nothing says that they lose");
    }
}
