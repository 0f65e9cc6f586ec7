//! The pool of buffers of freed tensors, for new tensors of the same size.

use std::collections::{HashMap, VecDeque};

/// Free buffers by size in bytes, in all no more than a limit: those that were not asked for longest leave first.
#[derive(Debug)]
pub struct Pool<T> {
    most: u64,
    bytes: u64,
    /// Counts buffers that were returned, for the age of the pooled ones.
    clock: u64,
    /// With the clock when they came, oldest first.
    free: HashMap<u64, VecDeque<(u64, T)>>,
}

impl<T> Pool<T> {
    /// An empty pool that keeps up to `most` bytes.
    pub fn new(most: u64) -> Self {
        Self { most, bytes: 0, clock: 0, free: HashMap::new() }
    }

    /// A buffer of exactly `size` bytes, the one that came last.
    pub fn take(&mut self, size: u64) -> Option<T> {
        let (_, buffer) = self.free.get_mut(&size)?.pop_back()?;
        self.bytes -= size;
        Some(buffer)
    }

    /// Keeps a buffer of `size` bytes; what has to leave for it, which is the buffer itself where it is too large.
    pub fn put(&mut self, size: u64, buffer: T) -> Vec<T> {
        if size > self.most {
            return vec![buffer];
        }
        let mut leaving = Vec::new();
        while self.bytes + size > self.most {
            leaving.extend(self.take_oldest());
        }
        self.bytes += size;
        self.clock += 1;
        self.free.entry(size).or_default().push_back((self.clock, buffer));
        leaving
    }

    fn take_oldest(&mut self) -> Option<T> {
        let age = |(_, buffers): &(&u64, &VecDeque<(u64, T)>)| buffers.front().map_or(u64::MAX, |&(came, _)| came);
        let size = *self.free.iter().min_by_key(age)?.0;
        let (_, buffer) = self.free.get_mut(&size)?.pop_front()?;
        self.bytes -= size;
        Some(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_for_its_size_alone() {
        let mut pool = Pool::new(1000);
        assert!(pool.put(100, 'a').is_empty() && pool.put(100, 'b').is_empty() && pool.put(200, 'c').is_empty());
        assert_eq!([pool.take(100), pool.take(100), pool.take(100)], [Some('b'), Some('a'), None]);
        assert_eq!([pool.take(150), pool.take(200)], [None, Some('c')]);
    }

    #[test]
    fn what_nobody_asks_for_makes_room() {
        let mut pool = Pool::new(1000);
        for name in ['a', 'b', 'c'] {
            assert!(pool.put(300, name).is_empty());
        }
        assert_eq!(pool.put(500, 'd'), ['a', 'b'], "the oldest leave, and no more than have to");
        assert_eq!(pool.put(1001, 'e'), ['e'], "too large for the pool");
        assert_eq!([pool.take(500), pool.take(300), pool.take(300)], [Some('d'), Some('c'), None]);
        assert!(pool.put(1000, 'f').is_empty(), "all of it is free again");
    }
}
