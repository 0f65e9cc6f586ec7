//! Drafts that are right, wrong from some row on, and none; texts that end; what the next draft is found in.

use super::reference::draft_after;
use super::{DRAFT_ROWS, Drafts, FEW_DRAFT_ROWS, Report, accept_drafts, bytes_of_reports, words_of, words_of_text};
use crate::harness::{Bench, Case, Expected, Suite};
use crate::kernels::pass::{Header, Pass, ROW_DONE, Row, Sequence};

const LENGTH: usize = 300;
/// Ids before position 0.
const START: usize = 5;
const SEQUENCE: u32 = 1;
const END: u32 = 290;
const CONTEXT: usize = 319;
/// Words of the text of a sequence, of two.
const TEXT: usize = words_of(CONTEXT);

/// The rows of a sequence in a pass, and what they are to leave.
#[derive(Clone)]
struct Part {
    sequence: u32,
    /// The text with the token of the first row.
    ids: Vec<u32>,
    draft: Vec<u32>,
    /// What is chosen after each row.
    chosen: Vec<u32>,
    done: bool,
}

/// A pass.
struct Problem {
    name: &'static str,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy)]
enum Look {
    Pass,
    Text,
    Counts,
    Report,
    Accepted,
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("accept_drafts");
    // No two ids follow each other twice.
    let plain: Vec<u32> = (0..280).collect();
    let right = [11, 12, 13, 14, 15, 16, 17];
    let chosen = [11, 12, 13, 14, 15, 16, 17, 18];
    let with = |at: usize, id: u32| {
        let mut chosen = chosen;
        chosen[at] = id;
        chosen
    };
    let part = |sequence, ids: &[u32], draft: &[u32], chosen: &[u32]| {
        let [ids, draft, chosen] = [ids, draft, chosen].map(<[u32]>::to_vec);
        Part { sequence, ids, draft, chosen, done: false }
    };
    let problem = |name, ids: &[u32], draft: &[u32], chosen: [u32; DRAFT_ROWS]| {
        let parts = vec![part(SEQUENCE, ids, draft, &chosen)];
        Problem { name, parts }
    };
    // The last two and three tokens stand far apart, at the very start, and right before the end.
    let mut far = plain.clone();
    far.extend([10, 200]);
    let mut twice: Vec<u32> = (0..600).map(|_| random.below(6)).collect();
    twice.push(10);
    let mut problems = vec![
        problem("all right", &[&plain[..], &[10]].concat(), &right, chosen),
        problem("wrong at once", &[&plain[..], &[10]].concat(), &right, with(0, 77)),
        problem("wrong at the fourth", &far, &right, with(3, 10)),
        problem("the last is wrong", &twice, &right, with(7, 3)),
        problem("no draft", &[&plain[..], &[10]].concat(), &[], chosen),
        problem("a short draft", &[&plain[..], &[10]].concat(), &right[..2], chosen),
        problem("an end within the draft", &[&plain[..], &[10]].concat(), &[11, 12, END, 14], with(2, END)),
        problem("no token at all", &[&plain[..], &[10]].concat(), &right, [u32::MAX; DRAFT_ROWS]),
        problem("over and over", &[7, 8, 9, 7, 8, 9, 7], &[8, 9, 7, 8], [8, 9, 7, 8, 9, 7, 8, 9]),
        problem("one token again", &[40, 41, 42, 43, 44, 4], &[4], [4; DRAFT_ROWS]),
        problem("the first ids again", &[11, 12, 1 << 31, 40, 41, 10], &right[..1], with(1, 12)),
        problem("of two ids the last place", &[1, 11, 12, 50, 60, 11, 12, 70, 10], &right[..1], chosen),
        problem("three ids before two", &[10, 11, 12, 50, 60, 11, 12, 70, 10], &right[..1], chosen),
    ];
    let mut done = problem("done before", &[&plain[..], &[10]].concat(), &right, chosen);
    done.parts[0].done = true;
    problems.push(done);
    // The one finds a draft, the other has none.
    let first = part(1, &[&plain[..], &[10]].concat(), &right[..4], &chosen[..5]);
    let second = part(0, &[50, 51, 52, 53, 54, 55], &[60], &[60, 61, 62]);
    let ended = Part { done: true, ..first.clone() };
    let alone = Part { draft: Vec::new(), chosen: vec![11], ..first.clone() };
    let many = Part { draft: vec![60, 61, 62, 63, 64, 65], chosen: (60..67).collect(), ..second.clone() };
    for (name, chosen) in [("four rows", chosen), ("the third of four is wrong", with(2, 77))] {
        let few = part(SEQUENCE, &[&plain[..], &[10]].concat(), &right[..3], &chosen[..FEW_DRAFT_ROWS]);
        problems.push(Problem { name, parts: vec![few] });
    }
    problems.push(Problem { name: "two sequences", parts: vec![first, second.clone()] });
    problems.push(Problem { name: "one of two has ended", parts: vec![ended, second] });
    problems.push(Problem { name: "one of two has no draft", parts: vec![alone, many] });
    let looks = [Look::Pass, Look::Text, Look::Counts, Look::Report, Look::Accepted];
    problems.iter().flat_map(|problem| looks.map(|look| case(problem, look))).collect()
}

impl Part {
    fn row(&self, token: u32, position: u32, flags: u32) -> Row {
        Row { token, position, sequence: self.sequence, flags }
    }

    fn sequence(&self) -> Sequence {
        let position = (self.ids.len() - START - 1) as u32;
        let token = *self.ids.last().expect("a token");
        Sequence { token, done: u32::from(self.done), steps: 4, position }
    }

    fn rows(&self) -> Vec<Row> {
        let Sequence { token, position, done, .. } = self.sequence();
        let mut rows = vec![self.row(token, position, done)];
        for (i, at) in (0..self.chosen.len() - 1).zip(position + 1..) {
            // Where there is no draft, the token that would be right.
            let flags = if i < self.draft.len() && !self.done { 0 } else { ROW_DONE };
            rows.push(self.row(self.draft.get(i).copied().unwrap_or(self.chosen[i]), at, flags));
        }
        rows
    }

    /// The tokens that are accepted.
    fn accepted(&self) -> &[u32] {
        if self.done {
            return &[];
        }
        let right =
            self.draft.iter().zip(&self.chosen).take_while(|(draft, chosen)| draft == chosen && **chosen != END);
        &self.chosen[..=right.count()]
    }

    /// The rows, as far as they were right.
    fn accepted_rows(&self) -> Vec<Row> {
        let mut rows = self.rows();
        rows.iter_mut().skip(self.accepted().len()).for_each(|row| row.flags = ROW_DONE);
        rows
    }

    /// The text, the report and the rows of the next pass.
    fn after(&self) -> (Vec<u32>, Report, Vec<Row>) {
        let (mut sequence, accepted) = (self.sequence(), self.accepted());
        let ids = [&self.ids[..], accepted].concat();
        if let Some(&token) = accepted.last() {
            let (steps, position) = (4 + accepted.len() as u32, sequence.position + accepted.len() as u32);
            sequence = Sequence { token, done: u32::from(token == END), steps, position };
        }
        let draft = draft_after(&ids, DRAFT_ROWS - 1);
        let is_draft = |&id: &u32| (id as usize) < LENGTH && sequence.done == 0;
        let mut rows = vec![self.row(sequence.token, sequence.position, sequence.done)];
        for i in 0..self.chosen.len() - 1 {
            let flags = if draft.get(i).is_some_and(is_draft) { 0 } else { ROW_DONE };
            // Whatever the token of a row without a draft is.
            let token = draft.get(i).copied().unwrap_or_else(|| ids[1 + i % ids.len().saturating_sub(1)]);
            rows.push(self.row(token, sequence.position + 1 + i as u32, flags));
        }
        let mut tokens = [0; DRAFT_ROWS];
        tokens[..accepted.len()].copy_from_slice(accepted);
        let drafted = if self.done { 0 } else { self.draft.len() as u32 };
        (ids, Report { unused: [0; 2], accepted: accepted.len() as u32, drafted, sequence, tokens }, rows)
    }
}

impl Problem {
    /// Number of rows of the pass.
    fn rows(&self) -> u32 {
        self.parts.iter().map(|part| part.chosen.len() as u32).sum()
    }

    fn of_parts<T>(&self, of: impl FnMut(&Part) -> Vec<T>) -> Vec<T> {
        self.parts.iter().flat_map(of).collect()
    }

    /// Behind the rows lies what was chosen.
    fn with(&self, mut rows: Vec<Row>, sequence: impl Fn(&Part) -> Sequence) -> Pass {
        let chosen = |part: &Part| part.chosen.iter().map(|&token| part.row(token, 99, 0)).collect();
        rows.extend(self.of_parts(chosen));
        let mut header = Header { rows: self.rows(), outputs: self.rows(), ..Header::default() };
        self.parts.iter().for_each(|part| header.sequences[part.sequence as usize] = sequence(part));
        Pass { header, rows }
    }

    fn pass(&self) -> Pass {
        self.with(self.of_parts(Part::rows), Part::sequence)
    }

    fn after(&self) -> Pass {
        self.with(self.of_parts(|part| part.after().2), |part| part.after().1.sequence)
    }

    /// The rows of the pass, as far as they were right.
    fn accepted_rows(&self) -> Pass {
        let rows = self.of_parts(Part::accepted_rows);
        Pass { header: Header { rows: self.rows(), ..Header::default() }, rows }
    }

    /// The texts of both sequences, with whatever was there behind them.
    fn texts(&self, ids: impl Fn(&Part) -> Vec<u32>) -> Vec<u32> {
        let mut texts = vec![10; 2 * TEXT];
        for part in &self.parts {
            let words = words_of_text(START, &ids(part));
            texts[part.sequence as usize * TEXT..][..words.len()].copy_from_slice(&words);
        }
        texts
    }
}

fn words_of_pass(pass: &Pass) -> Vec<u32> {
    let bytes = pass.bytes();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn case(problem: &Problem, look: Look) -> Case {
    let mut bench = Bench::of(problem.pass());
    let stops = bench.bytes(bytemuck::cast_slice(&[2, 3 * LENGTH as u32, END]));
    let counts = vec![2u32; 2 * LENGTH];
    let texts = problem.texts(|part| part.ids.clone());
    let [text_at, counts_at] = [&texts, &counts].map(|words| bench.bytes(bytemuck::cast_slice(words)));
    let report_at = bench.bytes(&vec![0; bytes_of_reports(2) as usize]);
    let kept_at = bench.bytes(&vec![0; Pass::bytes_of(DRAFT_ROWS) as usize]);
    let drafts = Drafts { text: text_at.into(), report: report_at.into(), kept: kept_at.into() };
    let (pass, _) = bench.fixed();
    let sizes = [problem.rows(), LENGTH as u32, CONTEXT as u32];
    let dispatch = accept_drafts(sizes, [stops.into(), counts_at.into(), pass], drafts);
    let (output, expected) = match look {
        Look::Pass => (Bench::PASS, words_of_pass(&problem.after())),
        Look::Accepted => (kept_at, words_of_pass(&problem.accepted_rows())),
        Look::Text => (text_at, problem.texts(|part| part.after().0)),
        Look::Report => {
            let reports: Vec<Report> = problem.parts.iter().map(|part| part.after().1).collect();
            (report_at, bytemuck::cast_slice(&reports).to_vec())
        }
        Look::Counts => {
            let mut counts = counts;
            for part in &problem.parts {
                let known = part.accepted().iter().map(|&id| id as usize).filter(|&id| id < LENGTH);
                known.for_each(|id| counts[part.sequence as usize * LENGTH + id] += 1);
            }
            (counts_at, counts)
        }
    };
    let name = format!("{}: {look:?}", problem.name).to_lowercase();
    bench.case(name, vec![dispatch], output, Expected::Exact(expected))
}
