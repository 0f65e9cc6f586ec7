//! Long work in short steps: it is written as a future that awaits its caller's `yield_now` every few milliseconds. A
//! page lets other tasks of its thread run meanwhile; a caller without other tasks runs the same code [`at_once`].

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Items of a vocabulary between two yields: a millisecond or two.
pub(crate) const ITEMS: usize = 4096;

/// A yield that takes no time.
pub(crate) async fn none() {}

/// Runs work whose yields are all [`none`].
///
/// # Panics
/// If it waits for anything, which is a bug.
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("work that never yields waits for nothing"),
    }
}
