//! Runs work that is written in turns, and counts them.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// A turn that really gives up the thread, as a page's does.
pub async fn turn() {
    let mut came_back = false;
    poll_fn(|_| if std::mem::replace(&mut came_back, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// The result of `work`, and how often it gave up the thread.
pub fn count_turns<T>(work: impl Future<Output = T>) -> (T, usize) {
    let mut work = pin!(work);
    let mut turns = 0;
    loop {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => return (result, turns),
            Poll::Pending => turns += 1,
        }
    }
}
