//! Turns: a value that asynchronous calls use one after the other. Who has the turn has the value.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use futures_channel::oneshot::{Sender, channel};

/// A value, and the queue of callers that wait for it.
pub struct Turns<T>(Rc<Line<T>>);

struct Line<T> {
    /// The value while nobody has it.
    free: RefCell<Option<Box<T>>>,
    waiting: RefCell<VecDeque<Sender<Box<T>>>>,
}

/// The value, which only one caller has at a time. Dropping it gives it to the next caller.
pub struct Turn<T> {
    line: Rc<Line<T>>,
    value: Option<Box<T>>,
}

impl<T> Turns<T> {
    /// Lets callers take turns with a value.
    pub fn new(value: T) -> Self {
        Self(Rc::new(Line { free: Some(Box::new(value)).into(), waiting: RefCell::default() }))
    }

    /// Waits for a turn, behind all who asked before.
    pub async fn take(&self) -> Turn<T> {
        loop {
            if let Some(turn) = self.take_if_free() {
                return turn;
            }
            let (sender, receiver) = channel();
            self.0.waiting.borrow_mut().push_back(sender);
            if let Ok(value) = receiver.await {
                return self.turn(value);
            }
        }
    }

    /// Takes a turn if nobody has one.
    pub fn take_if_free(&self) -> Option<Turn<T>> {
        let value = self.0.free.take()?;
        Some(self.turn(value))
    }

    fn turn(&self, value: Box<T>) -> Turn<T> {
        Turn { line: self.0.clone(), value: Some(value) }
    }

    /// Asks the value something while nobody has it.
    pub fn ask<A>(&self, ask: impl FnOnce(&T) -> A) -> Option<A> {
        self.0.free.borrow().as_deref().map(ask)
    }

    /// Whether somebody waits.
    pub fn are_wanted(&self) -> bool {
        !self.0.waiting.borrow().is_empty()
    }
}

impl<T> Deref for Turn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().unwrap_or_else(|| unreachable!("a turn has its value until it ends"))
    }
}

impl<T> DerefMut for Turn<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().unwrap_or_else(|| unreachable!("a turn has its value until it ends"))
    }
}

impl<T> Drop for Turn<T> {
    fn drop(&mut self) {
        let mut value = self.value.take();
        // A caller that gave up waiting gives the value back.
        while let Some(found) = value.take() {
            let next = self.line.waiting.borrow_mut().pop_front();
            match next {
                Some(next) => value = next.send(found).err(),
                None => {
                    self.line.free.replace(Some(found));
                }
            }
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
        let turns = Turns::new(7);
        let context = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(mut first) = pin!(turns.take()).poll(context) else { panic!("nobody else is there") };
        let mut second = Box::pin(turns.take());
        let mut third = pin!(turns.take());
        assert!(second.as_mut().poll(context).is_pending() && third.as_mut().poll(context).is_pending());
        assert!(turns.are_wanted() && turns.take_if_free().is_none() && turns.ask(|value| *value).is_none());
        // The second caller gives up.
        drop(second);
        *first += 1;
        drop(first);
        let Poll::Ready(third) = third.as_mut().poll(context) else { panic!("its turn") };
        assert!(!turns.are_wanted());
        assert_eq!(*third, 8, "what the first one left");
        drop(third);
        let free = turns.take_if_free();
        assert!(free.is_some() && pin!(turns.take()).poll(context).is_pending());
        drop(free);
        assert_eq!(turns.ask(|value| *value), Some(8));
    }
}
