//! Turns: lets asynchronous calls that share something run one after the other.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use futures_channel::oneshot::{Sender, channel};

/// A queue in which callers wait for their turn.
#[derive(Default)]
pub struct Turns(Rc<Line>);

#[derive(Default)]
struct Line {
    is_taken: Cell<bool>,
    waiting: RefCell<VecDeque<Sender<()>>>,
}

/// The right to run, which only one caller has at a time. Dropping it gives the next caller its turn.
pub struct Turn(Rc<Line>);

impl Turns {
    /// Waits for a turn, behind all who asked before.
    pub async fn take(&self) -> Turn {
        if self.0.is_taken.replace(true) {
            let (sender, receiver) = channel();
            self.0.waiting.borrow_mut().push_back(sender);
            let _ = receiver.await;
        }
        Turn(self.0.clone())
    }

    /// Takes a turn if nobody has one.
    pub fn take_if_free(&self) -> Option<Turn> {
        (!self.0.is_taken.replace(true)).then(|| Turn(self.0.clone()))
    }

    /// Whether somebody waits.
    pub fn are_wanted(&self) -> bool {
        !self.0.waiting.borrow().is_empty()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Calls from JavaScript are never dropped halfway, so a caller that was woken does take its turn.
        let mut waiting = self.0.waiting.borrow_mut();
        let is_taken = std::iter::from_fn(|| waiting.pop_front()).any(|next| next.send(()).is_ok());
        self.0.is_taken.set(is_taken);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn who_gave_up_waiting_holds_up_nobody() {
        let turns = Turns::default();
        let context = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(first) = pin!(turns.take()).poll(context) else { panic!("nobody else is there") };
        let mut second = Box::pin(turns.take());
        let mut third = pin!(turns.take());
        assert!(second.as_mut().poll(context).is_pending() && third.as_mut().poll(context).is_pending());
        assert!(turns.are_wanted() && turns.take_if_free().is_none());
        // The second caller gives up.
        drop(second);
        drop(first);
        let Poll::Ready(third) = third.as_mut().poll(context) else { panic!("its turn") };
        assert!(!turns.are_wanted());
        drop(third);
        let free = turns.take_if_free();
        assert!(free.is_some() && pin!(turns.take()).poll(context).is_pending());
        drop(free);
        assert!(turns.take_if_free().is_some());
    }
}
