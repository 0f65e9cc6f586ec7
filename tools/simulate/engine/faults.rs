//! What the simulator says about an access that is wrong.

use super::code::{Program, Space};
use super::machine::Fault;
use super::memory::{Who, Wrong};

/// The variable at a word.
pub fn name(program: &Program, space: Space, word: u32) -> String {
    match space {
        Space::Buffer(buffer) => {
            let found = program.buffer_names.iter().find(|(binding, _)| *binding == buffer);
            found.map(|(_, name)| name.clone()).unwrap_or_default()
        }
        Space::Workgroup => {
            let found = program.workgroup_names.iter().rev().find(|(first, _)| *first <= word);
            found.map(|(first, name)| format!("{name} (at {first})")).unwrap_or_default()
        }
        Space::Registers => "a variable".into(),
    }
}

/// What is wrong with a word past the end of a binding.
pub fn outside(program: &Program, buffer: u32, word: usize, words: usize) -> Option<String> {
    (word >= words).then(|| format!("word {word} of {words} of {}", name(program, Space::Buffer(buffer), 0)))
}

/// What is wrong with an access.
pub fn told(program: &Program, wrong: &Wrong, (space, word): (Space, u32), who: &Who) -> Fault {
    let of = name(program, space, word);
    let text = match wrong {
        Wrong::Unknown => format!("word {word} of {of} is read and was never written"),
        Wrong::Race { other, wrote } => format!(
            "a race for word {word} of {of}: invocation {} of workgroup {}, and invocation {} of workgroup {}, \
             which {} it at {}",
            who.thread(),
            who.workgroup,
            other.thread(),
            other.workgroup,
            if *wrote { "writes" } else { "reads" },
            program.quote(other.instruction()),
        ),
    };
    Fault { text, at: who.instruction() }
}
