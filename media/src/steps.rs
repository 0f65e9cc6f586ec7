//! Work in steps, between which a page's thread does something else: an `async` function that pauses.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Ends a step. What waits for it goes on with the next.
pub async fn pause() {
    let mut is_next = false;
    poll_fn(|_| if std::mem::replace(&mut is_next, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Work that has begun.
pub struct Steps<T> {
    work: Pin<Box<dyn Future<Output = T>>>,
}

impl<T> Steps<T> {
    /// Work whose pauses are those of [`pause`] alone.
    pub fn new(work: impl Future<Output = T> + 'static) -> Self {
        Self { work: Box::pin(work) }
    }

    /// Works up to the next pause; the result at the end, after which there must be no further step.
    pub fn step(&mut self) -> Option<T> {
        match self.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// All steps at once: their number, and the result.
    pub fn finish(mut self) -> (usize, T) {
        (1..).find_map(|steps| self.step().map(|result| (steps, result))).expect("work ends")
    }
}

/// Counts work, and pauses after every so much of it.
#[derive(Default)]
pub struct Meter {
    done: usize,
}

impl Meter {
    /// What a step takes: multiplications, or bytes that are moved; some milliseconds of a phone.
    const STEP: usize = 1 << 20;

    /// `more` was done.
    pub async fn add(&mut self, more: usize) {
        self.done += more;
        if self.done >= Self::STEP {
            self.done = 0;
            pause().await;
        }
    }
}
