//! Drafts that are right, wrong from some row on, and none; texts that end; what the next draft is found in.

use super::reference::draft_after;
use super::{DRAFT_ROWS, Drafts, Report, accept_drafts, words_of_text};
use crate::harness::{Bench, Case, Expected, Suite};
use crate::kernels::pass::{Header, Pass, ROW_DONE, Row, Sequence};

const LENGTH: usize = 300;
/// Ids before position 0.
const START: usize = 5;
const SEQUENCE: u32 = 1;
const END: u32 = 290;

/// A pass, and what it is to leave.
struct Problem {
    name: &'static str,
    /// The text with the token of the first row.
    ids: Vec<u32>,
    draft: Vec<u32>,
    chosen: [u32; DRAFT_ROWS],
    done: bool,
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
    let problem = |name, ids: &[u32], draft: &[u32], chosen| {
        let (ids, draft) = (ids.to_vec(), draft.to_vec());
        Problem { name, ids, draft, chosen, done: false }
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
    problems.push(Problem { done: true, ..problem("done before", &[&plain[..], &[10]].concat(), &right, chosen) });
    let looks = [Look::Pass, Look::Text, Look::Counts, Look::Report, Look::Accepted];
    problems.iter().flat_map(|problem| looks.map(|look| case(problem, look))).collect()
}

fn row(token: u32, position: u32, flags: u32) -> Row {
    Row { token, position, sequence: SEQUENCE, flags }
}

impl Problem {
    fn pass(&self) -> Pass {
        let position = (self.ids.len() - START - 1) as u32;
        let mut rows = vec![row(*self.ids.last().expect("a token"), position, u32::from(self.done))];
        for (i, at) in (0..DRAFT_ROWS - 1).zip(position + 1..) {
            // Where there is no draft, the token that would be right.
            let flags = if i < self.draft.len() && !self.done { 0 } else { ROW_DONE };
            rows.push(row(self.draft.get(i).copied().unwrap_or(self.chosen[i]), at, flags));
        }
        rows.extend(self.chosen.map(|token| row(token, 99, 0)));
        let mut header = Header { rows: DRAFT_ROWS as u32, outputs: DRAFT_ROWS as u32, ..Header::default() };
        let sequence = Sequence { token: rows[0].token, done: u32::from(self.done), steps: 4, position };
        header.sequences[SEQUENCE as usize] = sequence;
        Pass { header, rows }
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

    /// The rows of the pass, as far as they were right.
    fn accepted_rows(&self) -> Pass {
        let mut rows = self.pass().rows;
        rows.truncate(DRAFT_ROWS);
        rows.iter_mut().skip(self.accepted().len()).for_each(|row| row.flags = ROW_DONE);
        Pass { header: Header { rows: DRAFT_ROWS as u32, ..Header::default() }, rows }
    }

    fn after(&self) -> (Pass, Vec<u32>, Report) {
        let (mut pass, mut ids, accepted) = (self.pass(), self.ids.clone(), self.accepted());
        ids.extend(accepted);
        let sequence = &mut pass.header.sequences[SEQUENCE as usize];
        if let Some(&token) = accepted.last() {
            let (steps, position) = (4 + accepted.len() as u32, sequence.position + accepted.len() as u32);
            *sequence = Sequence { token, done: u32::from(token == END), steps, position };
        }
        let sequence = *sequence;
        let draft = draft_after(&ids, DRAFT_ROWS - 1);
        let is_draft = |&id: &u32| (id as usize) < LENGTH && sequence.done == 0;
        pass.rows[0] = row(sequence.token, sequence.position, sequence.done);
        for i in 0..DRAFT_ROWS - 1 {
            let flags = if draft.get(i).is_some_and(is_draft) { 0 } else { ROW_DONE };
            // Whatever the token of a row without a draft is.
            let token = draft.get(i).copied().unwrap_or_else(|| ids[1 + i % ids.len().saturating_sub(1)]);
            pass.rows[1 + i] = row(token, sequence.position + 1 + i as u32, flags);
        }
        let mut tokens = [0; DRAFT_ROWS];
        tokens[..accepted.len()].copy_from_slice(accepted);
        let (count, drafted) = (accepted.len() as u32, if self.done { 0 } else { self.draft.len() as u32 });
        (pass, ids, Report { unused: [0; 2], accepted: count, drafted, sequence, tokens })
    }
}

fn words_of(pass: &Pass) -> Vec<u32> {
    let bytes = pass.bytes();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn case(problem: &Problem, look: Look) -> Case {
    let (after, ids, report) = problem.after();
    let mut bench = Bench::of(problem.pass());
    let stops = bench.bytes(bytemuck::cast_slice(&[2, 3 * LENGTH as u32, END]));
    let mut text = words_of_text(START, &problem.ids);
    // Whatever was there.
    text.extend([10; DRAFT_ROWS + 1]);
    let counts = vec![2u32; 2 * LENGTH];
    let [text_at, counts_at] = [&text, &counts].map(|words| bench.bytes(bytemuck::cast_slice(words)));
    let report_at = bench.bytes(&[0; size_of::<Report>()]);
    let kept_at = bench.bytes(&vec![0; Pass::bytes_of(DRAFT_ROWS) as usize]);
    let drafts = Drafts { text: text_at.into(), report: report_at.into(), kept: kept_at.into() };
    let (pass, _) = bench.fixed();
    let dispatch = accept_drafts(LENGTH as u32, [stops.into(), counts_at.into(), pass], drafts);
    let (output, expected) = match look {
        Look::Pass => (Bench::PASS, words_of(&after)),
        Look::Accepted => (kept_at, words_of(&problem.accepted_rows())),
        Look::Text => (text_at, words_of_text(START, &ids)),
        Look::Report => (report_at, bytemuck::cast_slice(&[report]).to_vec()),
        Look::Counts => {
            let mut counts = counts;
            let known = problem.accepted().iter().map(|&id| id as usize).filter(|&id| id < LENGTH);
            known.for_each(|id| counts[SEQUENCE as usize * LENGTH + id] += 1);
            (counts_at, counts)
        }
    };
    let name = format!("{}: {look:?}", problem.name).to_lowercase();
    bench.case(name, vec![dispatch], output, Expected::Exact(expected))
}
