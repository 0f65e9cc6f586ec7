//! Memory that knows who touched each word: what was never written, and two invocations without a barrier between.

/// One invocation at one moment. Twelve bytes: there are three of them for each word of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Who {
    pub workgroup: u32,
    /// Above `INTERVAL_BITS` the dispatch, from 1, where 0 is nobody; below it the barriers of the workgroup before.
    moment: u32,
    /// Above `AT_BITS` the thread, below it the instruction.
    place: u32,
}

const INTERVAL_BITS: u32 = 24;
const AT_BITS: u32 = 22;

impl Who {
    pub fn new(dispatch: u32, workgroup: u32, thread: u32) -> Self {
        Self { workgroup, moment: dispatch << INTERVAL_BITS, place: thread << AT_BITS }
    }

    /// The same invocation at an instruction, after a number of barriers.
    pub fn at(self, interval: u32, at: u32) -> Self {
        Self { moment: self.moment | interval, place: self.place | at, ..self }
    }

    fn dispatch(&self) -> u32 {
        self.moment >> INTERVAL_BITS
    }

    pub fn thread(&self) -> u32 {
        self.place >> AT_BITS
    }

    pub fn instruction(&self) -> u32 {
        self.place & ((1 << AT_BITS) - 1)
    }

    /// Whether nothing orders what the two do.
    fn races(&self, other: &Self) -> bool {
        self.dispatch() == other.dispatch()
            && (self.workgroup != other.workgroup || (self.moment == other.moment && self.thread() != other.thread()))
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    written: Who,
    /// Two readers: of two workgroups, where there are, else two invocations of the last interval.
    read: [Who; 2],
    known: bool,
}

/// What is wrong with an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// Never written.
    Unknown,
    /// With the one who read or wrote.
    Race { other: Who, wrote: bool },
}

/// Words with their history.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    pub words: Vec<u32>,
    seen: Vec<Seen>,
}

impl Memory {
    /// Words with these contents, which are known or not.
    pub fn new(words: Vec<u32>, known: bool) -> Self {
        let seen = vec![Seen { known, ..Seen::default() }; words.len()];
        Self { words, seen }
    }

    pub fn read(&mut self, word: usize, who: &Who) -> Result<u32, Wrong> {
        let seen = &mut self.seen[word];
        if !seen.known {
            return Err(Wrong::Unknown);
        }
        if seen.written.races(who) {
            return Err(Wrong::Race { other: seen.written, wrote: true });
        }
        let [first, second] = &mut seen.read;
        if first.dispatch() != who.dispatch() {
            (*first, *second) = (*who, Who::default());
        } else if first.workgroup != who.workgroup {
            (*second, *first) = (*first, *who);
        } else if second.dispatch() == who.dispatch() && second.workgroup != who.workgroup {
            *first = *who;
        } else if first.moment != who.moment {
            (*first, *second) = (*who, Who::default());
        } else if first.thread() != who.thread() {
            *second = *who;
        }
        Ok(self.words[word])
    }

    pub fn write(&mut self, word: usize, value: u32, who: &Who) -> Result<(), Wrong> {
        let seen = &mut self.seen[word];
        if seen.written.races(who) {
            return Err(Wrong::Race { other: seen.written, wrote: true });
        }
        if let Some(other) = seen.read.iter().find(|reader| reader.races(who)) {
            return Err(Wrong::Race { other: *other, wrote: false });
        }
        (seen.written, seen.known) = (*who, true);
        self.words[word] = value;
        Ok(())
    }

    /// An atomic access: a variable that has them has no others, so they do not race. Counters begin with the zeros
    /// that WebGPU fills a new buffer with.
    pub fn atomic(&mut self, word: usize) -> &mut u32 {
        self.seen[word].known = true;
        &mut self.words[word]
    }

    /// An atomic store.
    pub fn put(&mut self, word: usize, value: u32) {
        (self.words[word], self.seen[word].known) = (value, true);
    }
}

#[cfg(test)]
mod tests {
    use super::{Memory, Who, Wrong};

    fn who(workgroup: u32, interval: u32, thread: u32) -> Who {
        Who::new(1, workgroup, thread).at(interval, 0)
    }

    #[test]
    fn a_barrier_orders_a_workgroup_and_no_other() {
        let mut memory = Memory::new(vec![0; 2], true);
        assert_eq!(memory.write(0, 7, &who(0, 0, 0)), Ok(()));
        assert!(matches!(memory.read(0, &who(0, 0, 1)), Err(Wrong::Race { wrote: true, .. })));
        assert_eq!(memory.read(0, &who(0, 1, 1)), Ok(7));
        assert!(matches!(memory.read(0, &who(1, 1, 1)), Err(Wrong::Race { .. })));
        assert_eq!(memory.read(0, &Who::new(2, 1, 1)), Ok(7));
    }

    #[test]
    fn a_write_after_reads_races_with_any_of_them() {
        let mut memory = Memory::new(vec![3; 2], true);
        for thread in 0..3 {
            assert_eq!(memory.read(0, &who(0, 0, thread)), Ok(3));
        }
        assert!(matches!(memory.write(0, 1, &who(0, 0, 2)), Err(Wrong::Race { wrote: false, .. })));
        assert_eq!(memory.write(0, 1, &who(0, 1, 2)), Ok(()));
    }

    #[test]
    fn what_was_never_written_is_unknown() {
        let mut memory = Memory::new(vec![0; 1], false);
        assert_eq!(memory.read(0, &who(0, 0, 0)), Err(Wrong::Unknown));
        assert_eq!(memory.write(0, 1, &who(0, 0, 0)), Ok(()));
        assert_eq!(memory.read(0, &who(0, 0, 0)), Ok(1));
    }
}
