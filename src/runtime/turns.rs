//! One after the other, for asynchronous calls that share something.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use futures_channel::oneshot::{Sender, channel};

/// A line in which callers wait.
#[derive(Default)]
pub struct Turns(Rc<Line>);

#[derive(Default)]
struct Line {
    is_taken: Cell<bool>,
    waiting: RefCell<VecDeque<Sender<Turn>>>,
}

/// Nobody else has one. The next in line gets it when it is dropped.
pub struct Turn(Rc<Line>);

impl Turns {
    /// Resolves when all who came before are through.
    pub async fn take(&self) -> Turn {
        if !self.0.is_taken.replace(true) {
            return Turn(self.0.clone());
        }
        let (sender, receiver) = channel();
        self.0.waiting.borrow_mut().push_back(sender);
        // A sender goes with the line alone, which lives as long as this.
        receiver.await.unwrap_or_else(|_| Turn(self.0.clone()))
    }

    /// Whether somebody waits.
    pub fn are_wanted(&self) -> bool {
        !self.0.waiting.borrow().is_empty()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = self.0.waiting.borrow_mut().pop_front();
        match next {
            // Where nobody receives it any more, it is dropped in turn.
            Some(next) => drop(next.send(Self(self.0.clone()))),
            None => self.0.is_taken.set(false),
        }
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
        assert!(turns.are_wanted());
        drop(first);
        assert!(third.as_mut().poll(context).is_pending(), "the second is before it");
        // It has the turn, and never learns of it.
        drop(second);
        let Poll::Ready(third) = third.as_mut().poll(context) else { panic!("its turn") };
        assert!(!turns.are_wanted());
        drop(third);
        assert!(pin!(turns.take()).poll(context).is_ready());
    }
}
