//! How long this thread has computed: other programs of a busy machine do not count.

use std::time::{Duration, Instant};

/// What the thread has computed since the start; where the system does not tell, the time that passed.
pub struct CpuClock {
    computed: Option<Duration>,
    begun: Instant,
}

impl CpuClock {
    pub fn start() -> Self {
        Self { computed: computed(), begun: Instant::now() }
    }

    pub fn elapsed(&self) -> Duration {
        let both = self.computed.zip(computed());
        both.map_or_else(|| self.begun.elapsed(), |(before, now)| now.saturating_sub(before))
    }
}

/// What Linux counts in hundredths of a second, in user and in system mode.
fn computed() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name of the thread, in parentheses, may hold anything; behind it the state is the first field.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}
