//! Runs work that yields, and counts them.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Really gives up the thread once, as a page does.
pub async fn yield_now() {
    let mut came_back = false;
    poll_fn(|_| if std::mem::replace(&mut came_back, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// The result of `work`, and how often it gave up the thread.
pub fn count_yields<T>(work: impl Future<Output = T>) -> (T, usize) {
    let mut work = pin!(work);
    let mut yields = 0;
    loop {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => return (result, yields),
            Poll::Pending => yields += 1,
        }
    }
}
