//! Text that is still being generated: tokens in, whole characters out, and stop strings caught wherever they fall.

use super::Tokenizer;
use super::join::Joint;

/// UTF-8 that arrives in pieces. The concatenated output equals `String::from_utf8_lossy` of all bytes.
#[derive(Debug, Clone, Default)]
pub struct Utf8Stream {
    /// The start of a character whose rest is still to come: at most three bytes.
    pending: Vec<u8>,
}

impl Utf8Stream {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes and gives the text that is now certain. An unfinished character at the end waits; bytes that cannot
    /// become UTF-8 come out as U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::with_capacity(self.pending.len());
        let mut waiting = 0;
        for chunk in self.pending.utf8_chunks() {
            text.push_str(chunk.valid());
            // An incomplete sequence can only be told from a broken one by what follows; at the end, nothing does.
            let invalid = chunk.invalid();
            let at_end = chunk_is_last(&self.pending, invalid);
            if at_end && could_continue(invalid) {
                waiting = invalid.len();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.pending.drain(..self.pending.len() - waiting);
        text
    }

    /// Ends the stream: an unfinished character becomes U+FFFD.
    pub fn flush(&mut self) -> String {
        let rest = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        rest
    }
}

/// Whether `part`, a slice of `whole`, reaches its end.
fn chunk_is_last(whole: &[u8], part: &[u8]) -> bool {
    whole.as_ptr_range().end == part.as_ptr_range().end
}

/// Whether bytes that are not UTF-8 are the start of a character.
fn could_continue(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Token ids → text, while they are generated.
#[derive(Debug, Clone)]
pub struct TextStream {
    utf8: Utf8Stream,
    joint: Joint,
    show_special: bool,
    /// Control tokens that are shown in any case.
    shown: Vec<u32>,
}

impl TextStream {
    /// A stream that shows the names of control tokens or leaves them out. `continues` says that the text goes on from
    /// a prompt, so that a space at the start is part of it; a text of its own loses the space that encoding had put
    /// there.
    pub fn new(show_special: bool, continues: bool) -> Self {
        let joint = if continues { Joint::Inside } else { Joint::Start };
        Self { utf8: Utf8Stream::new(), joint, show_special, shown: Vec::new() }
    }

    /// A stream that goes on from a prompt and shows these control tokens, by their names, and no others. Names that
    /// are no tokens are ignored.
    pub fn showing(tokenizer: &Tokenizer, names: &[String]) -> Self {
        let shown = names.iter().filter_map(|name| tokenizer.special_id(name)).collect();
        Self { shown, ..Self::new(false, true) }
    }

    /// The text that is certain after this token: often a word, at times nothing yet. Ids past the end give nothing.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> String {
        let mut bytes = Vec::new();
        let show = self.show_special || self.shown.contains(&id);
        tokenizer.push_token(id, show, &mut self.joint, &mut bytes);
        self.utf8.push(&bytes)
    }

    /// Ends the stream: an unfinished character becomes U+FFFD.
    pub fn flush(&mut self) -> String {
        let mut bytes = Vec::new();
        self.joint.end(&mut bytes);
        self.utf8.push(&bytes) + &self.utf8.flush()
    }
}

/// The result of [`StopMatcher::push`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopStatus {
    /// Text that can no longer be part of a stop string.
    pub text: String,
    /// The stop string that was found, as its position in the list; the text before it is in `text`.
    pub stopped: Option<usize>,
}

/// Finds stop strings in text that arrives in pieces, also across their borders. Text that could be the start of a stop
/// string is held back until that is decided. How the text is cut into pieces makes no difference: the stop string that
/// is complete first is taken.
#[derive(Debug, Clone, Default)]
pub struct StopMatcher {
    stops: Vec<String>,
    held: String,
    stopped: bool,
}

impl StopMatcher {
    /// A matcher for these strings; empty ones are ignored.
    pub fn new(stops: &[impl AsRef<str>]) -> Self {
        Self { stops: stops.iter().map(|stop| stop.as_ref().to_owned()).collect(), ..Self::default() }
    }

    /// Takes text and returns what is safe to show. After a stop string was found, all further text is dropped.
    pub fn push(&mut self, text: &str) -> StopStatus {
        if self.stopped {
            return StopStatus { text: String::new(), stopped: None };
        }
        self.held.push_str(text);
        if let Some((start, stop)) = self.first_stop() {
            self.stopped = true;
            let mut text = std::mem::take(&mut self.held);
            text.truncate(start);
            return StopStatus { text, stopped: Some(stop) };
        }
        let keep_from = self.held.len() - self.longest_start();
        let keep = self.held.split_off(keep_from);
        StopStatus { text: std::mem::replace(&mut self.held, keep), stopped: None }
    }

    /// Ends the text: what was held back is no stop string after all.
    pub fn flush(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    fn stops(&self) -> impl Iterator<Item = (usize, &str)> {
        self.stops.iter().map(String::as_str).enumerate().filter(|(_, stop)| !stop.is_empty())
    }

    /// The stop string in the held text that ends first, and among equal ends starts first.
    fn first_stop(&self) -> Option<(usize, usize)> {
        let found = self.stops().filter_map(|(index, stop)| {
            let start = self.held.find(stop)?;
            Some((start + stop.len(), start, index))
        });
        found.min().map(|(_, start, index)| (start, index))
    }

    /// The length of the longest suffix of the held text that is a prefix of a stop string.
    fn longest_start(&self) -> usize {
        let held = self.held.as_bytes();
        let begins = |stop: &str| {
            let max = held.len().min(stop.len() - 1);
            (1..=max).rev().find(|&len| stop.is_char_boundary(len) && held.ends_with(&stop.as_bytes()[..len]))
        };
        self.stops().filter_map(|(_, stop)| begins(stop)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_in_any_pieces_is_the_lossy_text() {
        let samples: [&[u8]; 6] = [
            "a é 我 🦙!".as_bytes(),
            b"\xf0\x9f\xa6",
            b"\xff\xe6\x88x\xf0\x9f\xa6\x99\x80",
            b"\xe0\x80\x80\xed\xa0\x80",
            b"\xc3",
            b"",
        ];
        for bytes in samples {
            for piece in 1..=bytes.len().max(1) {
                let mut stream = Utf8Stream::new();
                let mut text: String = bytes.chunks(piece).map(|bytes| stream.push(bytes)).collect();
                text += &stream.flush();
                assert_eq!(text, String::from_utf8_lossy(bytes), "{bytes:?} by {piece}");
            }
        }
    }

    #[test]
    fn only_unfinished_characters_wait() {
        let mut stream = Utf8Stream::new();
        assert_eq!(stream.push(b"ab\xf0\x9f"), "ab");
        assert_eq!(stream.push(b"\xa6"), "");
        assert_eq!(stream.push(b"\x99c"), "🦙c");
        assert_eq!(stream.push(b"\xffd"), "\u{fffd}d");
        assert_eq!(stream.flush(), "");
    }

    /// All text that comes out when `text` goes in by `size` characters, and the stop string.
    fn run(stops: &[&str], text: &str, size: usize) -> (String, Option<usize>) {
        let mut matcher = StopMatcher::new(stops);
        let mut out = String::new();
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            let status = matcher.push(&piece.iter().collect::<String>());
            out += &status.text;
            if status.stopped.is_some() {
                return (out, status.stopped);
            }
        }
        out += &matcher.flush();
        (out, None)
    }

    #[test]
    fn stops_are_found_across_pieces() {
        for size in 1..12 {
            assert_eq!(run(&["\n\n"], "one\ntwo\n\nthree", size), ("one\ntwo".into(), Some(0)));
            assert_eq!(run(&["</s>", "END"], "a </b> EN END.", size), ("a </b> EN ".into(), Some(1)));
            assert_eq!(run(&["aab"], "aaaaab", size), ("aaa".into(), Some(0)));
            assert_eq!(run(&["我們"], "我我們", size), ("我".into(), Some(0)));
            assert_eq!(run(&["xyz", ""], "ends with xy", size), ("ends with xy".into(), None));
            // The shorter one is complete first, however the text arrives.
            assert_eq!(run(&["abcd", "bc"], "abcd", size), ("a".into(), Some(1)));
            assert_eq!(run(&["bc", "abc"], "abc", size), ("".into(), Some(1)));
        }
    }

    #[test]
    fn only_what_could_be_a_stop_is_held_back() {
        let mut matcher = StopMatcher::new(&["stop"]);
        assert_eq!(matcher.push("a st"), StopStatus { text: "a ".into(), stopped: None });
        assert_eq!(matcher.push("ar"), StopStatus { text: "star".into(), stopped: None });
        assert_eq!(matcher.push("stopped"), StopStatus { text: "".into(), stopped: Some(0) });
        assert_eq!(matcher.push("more"), StopStatus { text: "".into(), stopped: None });
        assert_eq!(matcher.flush(), "");
    }
}
