//! Long work in steps: it is written as a future that awaits its caller's turn every few milliseconds. A page lets
//! others on its thread run meanwhile; who has the thread to himself runs the same code [`at_once`].

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Items of a vocabulary between two turns: a millisecond or two.
pub(crate) const ITEMS: usize = 4096;

/// A turn that takes no time.
pub(crate) async fn none() {}

/// Runs work whose turns are all [`none`].
///
/// # Panics
/// If it waits for anything, which is a bug.
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("work without turns waits for nothing"),
    }
}
