//! Texts that follow a grammar: the loop of `generate` with masks.
//!
//! When nothing is in flight, a *wave* starts. It reads the tokens that the cache lacks, including those that the
//! grammar forces. While the GPU is at their layers, the host computes the mask of the next token. Then that token is
//! drawn, and others [ahead of their masks](super::speculation), among all ids or under a guess of their masks. A wave
//! ends where the grammar refuses a token or forces another than the model drew, or where a guess was too narrow.

use super::engine::Engine;
use super::guide::{Compiling, Guide, Progress};
use super::outcome::{FinishReason, Piece};
use super::speculation::{Ahead, Drawn, Speculation};
use super::state::Run;
use crate::runtime::session::{Session, Token};
use crate::time_slice::TimeSlice;
use crate::{Error, ErrorCode, Result};

impl<S: Session> Engine<S> {
    /// Adds the next tokens of a run with a grammar to `piece`; false where there are no more.
    pub(in crate::runtime) async fn advance_guided(
        &mut self,
        run: &mut Run,
        guide: Progress,
        piece: &mut Piece,
        clock: impl Fn() -> f64,
    ) -> Result<bool> {
        let mut guide = match guide {
            Progress::Ready(guide) => guide,
            Progress::Compiling(compiling) => {
                // The prompt is read while the grammar is compiled.
                let read = self.read_missing(run).await;
                if !matches!(read, Ok(true)) {
                    run.guide = Some(Progress::Compiling(compiling));
                    return read;
                }
                self.prepare(compiling).await?
            }
        };
        let outcome = self.advance_with(run, &mut guide, piece, clock).await;
        run.guide = Some(Progress::Ready(guide));
        outcome
    }

    async fn prepare(&self, compiling: Compiling) -> Result<Box<Guide>> {
        let mut constraint = compiling.await?;
        let forced = constraint.commit_forced()?.into();
        let speculation = Speculation::default();
        let can_draw_ahead = self.session.draws_ahead();
        let (guess, ahead) = (None, Ahead::default());
        Ok(Box::new(Guide {
            constraint,
            forced,
            restart: false,
            masked_since: None,
            guess,
            ahead,
            can_draw_ahead,
            speculation,
        }))
    }

    async fn advance_with(
        &mut self,
        run: &mut Run,
        guide: &mut Guide,
        piece: &mut Piece,
        clock: impl Fn() -> f64,
    ) -> Result<bool> {
        while run.reason.is_none() && !self.stop.get() {
            let has_news = !piece.ids.is_empty();
            let has_drafts = guide.forced.is_empty() && self.session.drafts_ahead() > 0;
            if guide.restart || (self.session.in_flight() == 0 && !has_drafts) {
                // Without drawing ahead, a wave is one token, and the piece should not wait for it.
                if has_news && !guide.can_draw_ahead {
                    break;
                }
                self.start_wave(run, guide, piece, &clock).await?;
            } else {
                self.draw_ahead(run, guide)?;
            }
            if run.reason.is_some() || self.stop.get() {
                break;
            }
            let token = match has_news {
                false => self.session.next().await?,
                true => self.session.next_if_ready()?,
            };
            match token {
                Some(token) => self.take_guided(run, guide, token, piece, clock())?,
                None if has_news => break,
                None => return Err(Error::new(ErrorCode::DeviceLost, "no token is in flight that was asked for")),
            }
        }
        let is_over = piece.ids.is_empty() && piece.text.is_empty() && (run.reason.is_some() || self.stop.get());
        Ok(!is_over)
    }

    /// Reads what the cache lacks, and draws the next token under its mask.
    async fn start_wave(
        &mut self,
        run: &mut Run,
        guide: &mut Guide,
        piece: &mut Piece,
        clock: &impl Fn() -> f64,
    ) -> Result<()> {
        let mut recount = std::mem::take(&mut guide.restart);
        if recount {
            let reached = self.session.rewind(self.cached.len());
            self.cached.truncate(reached);
        }
        let mask = loop {
            recount |= !guide.forced.is_empty();
            // A forced token needs no drawing, unless the run wants log-probabilities: then it is drawn like others.
            while run.logprobs.is_none()
                && let Some(id) = guide.forced.pop_front()
            {
                self.accept(run, id, piece, clock());
                if run.reason.is_some() {
                    return Ok(());
                }
            }
            if guide.forced.is_empty() && guide.constraint.is_stopped() {
                run.end(FinishReason::Stop, piece);
                return Ok(());
            }
            self.session.resume(&run.ids, recount);
            if !self.read_missing(run).await? {
                return Ok(());
            }
            // The GPU is at the layers now.
            let mask = match guide.forced.front() {
                Some(&id) => mask_of(id),
                None => guide.constraint.mask()?,
            };
            match only_id(&mask).filter(|_| run.logprobs.is_none()) {
                Some(id) => self.take_only(run, guide, id, piece)?,
                None => break mask,
            }
            if run.reason.is_some() {
                return Ok(());
            }
        };
        self.session.allow(Some(&mask));
        self.session.step()?;
        guide.ahead = guide.speculation.after(&mask);
        guide.guess = (guide.ahead.drawn == Drawn::Guessed).then_some(mask);
        self.session.allow(guide.guess.as_deref());
        guide.masked_since = Some(clock());
        self.draw_ahead(run, guide)
    }

    /// Takes a token that needs no drawing, since its mask has no other id.
    fn take_only(&mut self, run: &mut Run, guide: &mut Guide, id: u32, piece: &mut Piece) -> Result<()> {
        if !guide.constraint.commit(id)? {
            return Err(inconsistent(id));
        }
        if run.ends.contains(&id) {
            run.end(FinishReason::Stop, piece);
            return Ok(());
        }
        guide.forced.push_back(id);
        guide.forced.extend(guide.constraint.commit_forced()?);
        Ok(())
    }

    /// Keeps passes in flight whose tokens are drawn ahead of their masks.
    fn draw_ahead(&mut self, run: &mut Run, guide: &Guide) -> Result<()> {
        let drawn = if guide.can_draw_ahead { guide.speculation.count(guide.ahead) } else { 0 };
        let depth = (1 + drawn.max(self.session.drafts_ahead())).min(run.limit - run.ids.len());
        while self.session.in_flight() < depth && self.session.step()? {}
        Ok(())
    }

    /// Takes a token from the session, if the grammar allows it.
    fn take_guided(
        &mut self,
        run: &mut Run,
        guide: &mut Guide,
        token: Token,
        piece: &mut Piece,
        now: f64,
    ) -> Result<()> {
        self.check_token(token.id)?;
        let masked_since = guide.masked_since.take();
        // The pass that gave this token has read all tokens before it.
        let known = run.prompt.len() + run.ids.len();
        let was_forced = !guide.forced.is_empty();
        let allowed = match guide.forced.front() {
            Some(&forced) => forced == token.id && guide.forced.pop_front().is_some(),
            None => guide.allows(token.id, masked_since.is_some())?,
        };
        match masked_since {
            Some(since) => guide.speculation.drawn_masked(guide.ahead, now - since),
            None => guide.speculation.drawn_ahead(guide.ahead, allowed),
        }
        if !allowed {
            guide.restart = true;
            // Forced tokens come after what is read, so that can stay. Where a token must be drawn instead, forced or
            // not, it comes from the logits of the last token, which is read once more.
            let is_drawn = guide.forced.is_empty() || run.logprobs.is_some();
            self.cache_up_to(run, if is_drawn { known - 1 } else { known });
            return if masked_since.is_some() { Err(inconsistent(token.id)) } else { Ok(()) };
        }
        self.cache_up_to(run, known);
        if token.end {
            run.end(FinishReason::Stop, piece);
            return Ok(());
        }
        self.accept(run, token.id, piece, now);
        if run.reason.is_none() && guide.forced.is_empty() {
            match guide.constraint.is_stopped() {
                true => run.end(FinishReason::Stop, piece),
                // What follows a forced token was forced along with it.
                false if was_forced => {}
                false => guide.forced.extend(guide.constraint.commit_forced()?),
            }
        }
        Ok(())
    }

    /// Notes that the cache holds the first `known` tokens of the run.
    pub(in crate::runtime) fn cache_up_to(&mut self, run: &Run, known: usize) {
        let all = run.prompt.iter().chain(&run.ids).copied();
        let (from, known) = (self.cached.len(), known.max(self.cached.len()));
        self.cached.extend(all.take(known).skip(from));
    }

    /// Reads the tokens of the run that the cache lacks, and runs the layers of the last one; false where it was
    /// stopped.
    pub(in crate::runtime) async fn read_missing(&mut self, run: &Run) -> Result<bool> {
        let total = run.prompt.len() + run.ids.len();
        let mut time_slice = TimeSlice::new();
        while self.cached.len() < total {
            let position = self.cached.len();
            let mut missing = run.tokens_from(position);
            missing.truncate(run.read_at_once(position, self.session.rounds()));
            let read = self.session.read(&missing, position, &self.stop).await?;
            self.cached.extend_from_slice(&missing[..read]);
            if read < missing.len() || self.stop.get() {
                return Ok(false);
            }
            time_slice.yield_if_over().await;
        }
        Ok(!self.stop.get())
    }
}

/// A mask with one id.
fn mask_of(id: u32) -> Vec<u32> {
    let mut mask = vec![0; id as usize / 32 + 1];
    mask[id as usize / 32] = 1 << (id % 32);
    mask
}

/// The id of a mask that has exactly one.
fn only_id(mask: &[u32]) -> Option<u32> {
    let mut set = mask.iter().zip(0..).filter(|(word, _)| **word != 0);
    match (set.next(), set.next()) {
        (Some((word, at)), None) if word.is_power_of_two() => Some(at * 32 + word.trailing_zeros()),
        _ => None,
    }
}

fn inconsistent(id: u32) -> Error {
    Error::invalid_argument(format!("the grammar contradicts itself: it refuses token {id}, which it had allowed"))
}

#[cfg(test)]
mod tests {
    use super::{mask_of, only_id};

    #[test]
    fn the_only_id_of_a_mask() {
        assert_eq!(only_id(&[0, 0, 1 << 31]), Some(95));
        assert_eq!(only_id(&mask_of(64)), Some(64));
        assert_eq!(only_id(&[0, 3]), None);
        assert_eq!(only_id(&[1, 0, 1]), None);
        assert_eq!(only_id(&[0]), None);
    }
}
