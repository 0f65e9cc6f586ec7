//! Long work in steps, between which a page's thread can do something else: an `async` function that pauses.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Ends a step; the next step continues after the `await`.
pub async fn pause() {
    let mut is_next = false;
    poll_fn(|_| if std::mem::replace(&mut is_next, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Work in progress.
pub struct Steps<T> {
    work: Pin<Box<dyn Future<Output = T>>>,
}

impl<T> Steps<T> {
    /// Starts work that awaits nothing but [`pause`].
    pub fn new(work: impl Future<Output = T> + 'static) -> Self {
        Self { work: Box::pin(work) }
    }

    /// Runs up to the next pause; returns the result at the end, after which it must not be called again.
    pub fn step(&mut self) -> Option<T> {
        match self.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// Runs all steps; returns their number and the result.
    pub fn finish(mut self) -> (usize, T) {
        (1..).find_map(|steps| self.step().map(|result| (steps, result))).expect("work ends")
    }
}

/// Counts work and pauses after each `STEP` of it.
#[derive(Default)]
pub struct Meter {
    done: usize,
}

impl Meter {
    /// Multiplications, or bytes moved, in a step, which takes a phone some milliseconds.
    const STEP: usize = 1 << 20;

    /// Adds finished work.
    pub async fn add(&mut self, more: usize) {
        self.done += more;
        if self.done >= Self::STEP {
            self.done = 0;
            pause().await;
        }
    }
}
