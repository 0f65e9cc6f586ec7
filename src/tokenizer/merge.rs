//! Merging neighbours until nothing more merges: the loop that byte-level BPE and SentencePiece share.
//!
//! The pair with the lowest priority number goes first, the leftmost of equals before the others. BPE (Sennrich et al.,
//! <https://arxiv.org/abs/1508.07909>) takes the rank of the merge as priority, SentencePiece the score of the result.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The id of a piece that is not in the vocabulary.
pub(super) const NO_ID: u32 = u32::MAX;

/// A piece of the text that may become part of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Where it starts in the text, in bytes.
    pub start: u32,
    /// The length in bytes; 0 once it was merged into its left neighbour.
    pub len: u32,
    /// The vocabulary's number for it, or [`NO_ID`].
    pub id: u32,
}

impl Symbol {
    /// Where it ends in the text, in bytes.
    pub fn end(&self) -> u32 {
        self.start + self.len
    }
}

/// The result of merging two neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Merge {
    /// Lower goes first.
    pub priority: u32,
    /// The id of the result.
    pub id: u32,
}

/// No merge: later than every real one.
const NEVER: Merge = Merge { priority: u32::MAX, id: NO_ID };

/// Up to this many symbols, looking at all pairs each time is faster than a heap.
const SHORT: usize = 32;

/// Merges symbols; its buffers are used again from word to word.
#[derive(Debug, Default)]
pub(super) struct Merger {
    symbols: Vec<Symbol>,
    /// In the scan: the merge of each symbol with the next.
    pairs: Vec<Merge>,
    /// In the heap loop: the neighbours of each symbol that still exist, as positions in `symbols`.
    links: Vec<Link>,
    heap: BinaryHeap<Reverse<Candidate>>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

/// A pair that could merge, unless one of its sides has merged elsewhere since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    priority: u32,
    left: u32,
    /// The bytes of both sides; one of them has grown when they no longer add up to it.
    len: u32,
    id: u32,
}

const NOBODY: u32 = u32::MAX;

impl Merger {
    /// Clears the symbols of the last word.
    pub fn clear(&mut self) {
        self.symbols.clear();
    }

    /// Appends a symbol; symbols touch.
    pub fn push(&mut self, symbol: Symbol) {
        self.symbols.push(symbol);
    }

    /// Merges, asking `merge_of` about neighbours, and gives the symbols that are left.
    pub fn run(&mut self, merge_of: impl Fn(&Symbol, &Symbol) -> Option<Merge>) -> &[Symbol] {
        if self.symbols.len() <= SHORT {
            self.scan(merge_of);
        } else {
            self.run_heap(merge_of);
        }
        &self.symbols
    }

    fn scan(&mut self, merge_of: impl Fn(&Symbol, &Symbol) -> Option<Merge>) {
        let Self { symbols, pairs, .. } = self;
        let ask = |left: &Symbol, right: &Symbol| merge_of(left, right).unwrap_or(NEVER);
        pairs.clear();
        pairs.extend(symbols.array_windows().map(|[left, right]| ask(left, right)));
        while let Some((at, merge)) = pairs.iter().copied().enumerate().min_by_key(|(_, merge)| merge.priority)
            && merge != NEVER
        {
            symbols[at] = Symbol { len: symbols[at].len + symbols[at + 1].len, id: merge.id, ..symbols[at] };
            symbols.remove(at + 1);
            pairs.remove(at);
            if at < pairs.len() {
                pairs[at] = ask(&symbols[at], &symbols[at + 1]);
            }
            if at > 0 {
                pairs[at - 1] = ask(&symbols[at - 1], &symbols[at]);
            }
        }
    }

    fn run_heap(&mut self, merge_of: impl Fn(&Symbol, &Symbol) -> Option<Merge>) {
        let Self { symbols, links, heap, .. } = self;
        let count = symbols.len() as u32;
        links.clear();
        links.extend((0..count).map(|at| Link {
            previous: at.checked_sub(1).unwrap_or(NOBODY),
            next: if at + 1 < count { at + 1 } else { NOBODY },
        }));
        let ask = |symbols: &[Symbol], left: u32, right: u32| {
            let (left_symbol, right_symbol) = (&symbols[left as usize], &symbols[right as usize]);
            let len = left_symbol.len + right_symbol.len;
            merge_of(left_symbol, right_symbol).map(|Merge { priority, id }| Candidate { priority, left, len, id })
        };
        heap.clear();
        heap.extend((1..count).filter_map(|right| ask(symbols, right - 1, right)).map(Reverse));
        while let Some(Reverse(candidate)) = heap.pop() {
            let left = candidate.left;
            let Link { previous, next: right } = links[left as usize];
            if right == NOBODY || !still_stands(&candidate, &symbols[left as usize], &symbols[right as usize]) {
                continue;
            }
            symbols[left as usize] = Symbol { len: candidate.len, id: candidate.id, ..symbols[left as usize] };
            symbols[right as usize].len = 0;
            let next = links[right as usize].next;
            links[left as usize].next = next;
            if next != NOBODY {
                links[next as usize].previous = left;
                heap.extend(ask(symbols, left, next).map(Reverse));
            }
            if previous != NOBODY {
                heap.extend(ask(symbols, previous, left).map(Reverse));
            }
        }
        symbols.retain(|symbol| symbol.len > 0);
    }
}

/// A symbol that was merged away has length 0, and its old right neighbour starts elsewhere; one that grew changes the
/// sum.
fn still_stands(candidate: &Candidate, left: &Symbol, right: &Symbol) -> bool {
    left.len > 0 && left.len + right.len == candidate.len
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges any two symbols whose text together is in `words`, earlier words first.
    fn merged(text: &str, words: &[&str], heap: bool) -> Vec<String> {
        let mut merger = Merger::default();
        for start in 0..text.len() as u32 {
            merger.push(Symbol { start, len: 1, id: NO_ID });
        }
        let merge_of = |left: &Symbol, right: &Symbol| {
            let both = &text[left.start as usize..right.end() as usize];
            let id = words.iter().position(|&word| word == both)? as u32;
            Some(Merge { priority: id, id })
        };
        if heap {
            merger.run_heap(merge_of)
        } else {
            merger.scan(merge_of)
        };
        merger.symbols.iter().map(|symbol| text[symbol.start as usize..symbol.end() as usize].to_owned()).collect()
    }

    #[test]
    fn lower_priority_then_leftmost_goes_first() {
        for heap in [false, true] {
            assert_eq!(merged("abc", &["bc", "ab"], heap), ["a", "bc"]);
            assert_eq!(merged("aaa", &["aa"], heap), ["aa", "a"]);
            assert_eq!(merged("aaaaa", &["aa", "aaaa"], heap), ["aaaa", "a"]);
            assert_eq!(merged("", &["aa"], heap), [""; 0]);
        }
    }

    #[test]
    fn scan_and_heap_agree() {
        let words = ["ab", "ba", "aa", "abab", "bb", "aab", "bba", "abba", "aabb", "ababab", "bbaa"];
        let mut state = 7_u32;
        for length in 0..200 {
            let text: String = (0..length % 40)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if state >> 31 == 0 { 'a' } else { 'b' }
                })
                .collect();
            assert_eq!(merged(&text, &words, false), merged(&text, &words, true), "{text}");
        }
    }
}
