//! Verdicts of tuning: which rows of the tables of [`RULES`](super::mat_vec::RULES) were measured to be faster on a
//! device than those that the tables choose.
//!
//! A problem is a text of kernel, type and sizes, such as `mat_vec q4_0 8192x2048`. Verdicts are lines `problem=row`.
//! They come from a file that anything may have written, so one that is no such line, or whose row the device cannot
//! run, counts as none: the choice is then the table's.

use std::cell::RefCell;
use std::fmt::Arguments;
use std::rc::Rc;

/// The verdicts of a device, which its clones share. Without any, every table chooses by itself.
#[derive(Debug, Clone, Default)]
pub struct Tuned(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    /// The verdicts: few, so that a map would take more code than it saves time.
    lines: String,
    /// The problems that tables were asked.
    asked: Option<String>,
}

impl State {
    /// The row of the line that begins so: a problem and `=`.
    fn row_of(&self, start: &str) -> Option<usize> {
        self.lines.lines().find_map(|line| line.strip_prefix(start)?.parse().ok())
    }
}

impl PartialEq for Tuned {
    /// Whether they share their verdicts.
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Tuned {
    /// The verdicts of these lines.
    pub fn of(lines: &str) -> Self {
        let tuned = Self::default();
        tuned.set(lines);
        tuned
    }

    /// Replaces the verdicts.
    pub fn set(&self, lines: &str) {
        lines.clone_into(&mut self.0.borrow_mut().lines);
    }

    /// Whether there are any verdicts.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().lines.is_empty()
    }

    /// The row that a verdict names for a problem.
    pub fn row_of(&self, problem: &str) -> Option<usize> {
        self.0.borrow().row_of(&format!("{problem}="))
    }

    /// Takes note of what tables are asked from now on.
    pub fn listen(&self) {
        self.0.borrow_mut().asked = Some(String::new());
    }

    /// Ends [`Tuned::listen`] and returns the problems since then: lines of a problem, `=`, the row that the table
    /// chooses, and a mask of the rows that the device can run; a table has 32 rows at most.
    pub fn heard(&self) -> String {
        self.0.borrow_mut().asked.take().unwrap_or_default()
    }

    /// Chooses a row of a table and returns `choice` of it: the verdict's row if the device can run it, or else the
    /// first row that `can_run` and `fits`. The last row holds for every problem. A verdict names the first of the rows
    /// with the same choice.
    pub(crate) fn choose<R, C: PartialEq>(
        &self,
        problem: Arguments<'_>,
        rules: &[R],
        choice: fn(&R) -> C,
        can_run: &dyn Fn(&R) -> bool,
        fits: &dyn Fn(&R) -> bool,
    ) -> C {
        let holds = |rule: &R| can_run(rule) && fits(rule);
        let table = rules.iter().position(holds).unwrap_or(rules.len() - 1);
        let first = |row: usize| rules.iter().position(|rule| choice(rule) == choice(&rules[row])).unwrap_or(row);
        let can = |row: usize| rules.get(row).is_some_and(can_run) && first(row) == row;
        choice(&rules[self.row(problem, first(table), &can)])
    }

    /// The row for a problem: that of the verdict, if there is one which `can` run, else the `table`'s. `can` is false
    /// for numbers of no row.
    fn row(&self, problem: Arguments<'_>, table: usize, can: &dyn Fn(usize) -> bool) -> usize {
        let state = &mut *self.0.borrow_mut();
        if state.lines.is_empty() && state.asked.is_none() {
            return table;
        }
        let problem = format!("{problem}=");
        let verdict = state.row_of(&problem);
        if let Some(asked) = state.asked.as_mut().filter(|asked| !asked.contains(&problem)) {
            let rows = (0..u32::BITS).filter(|&row| can(row as usize)).fold(0, |rows, row| rows | 1_u32 << row);
            *asked += &format!("{problem}{table},{rows}\n");
        }
        verdict.filter(|&row| can(row)).unwrap_or(table)
    }
}

/// The class of a number of rows of x: one verdict is for all in it.
pub(crate) fn class_of(rows: u32) -> u32 {
    rows.clamp(1, 1 << 20).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_that_cannot_run_count_as_none() {
        let can = |row: usize| [1, 4].contains(&row);
        let row = |lines: &str| Tuned::of(lines).row(format_args!("mat_vec q4_0 8x32"), 1, &can);
        assert_eq!(row("mat_vec q4_0 8x32=4"), 4);
        for hostile in [
            "",
            "mat_vec q4_0 8x32=3",
            "mat_vec q4_0 8x32=99999999999999999999",
            "mat_vec q4_0 8x32=-1",
            "mat_vec q4_0 8x32",
            "=4",
            "mat_vec q4_0 8x32=4 ",
            "mat_vec q4_0 8x33=4",
            "\n\n=\n==4",
            "mat_vec q4_0 8x32=18446744073709551615",
        ] {
            assert_eq!(row(hostile), 1, "{hostile:?}");
        }
    }

    #[test]
    fn what_was_asked_is_told_once() {
        let tuned = Tuned::default();
        let ask = || tuned.row(format_args!("a 1"), 2, &|row| row < 3);
        ask();
        tuned.listen();
        assert_eq!((ask(), ask()), (2, 2));
        assert_eq!(tuned.heard(), "a 1=2,7\n");
        ask();
        assert_eq!(tuned.heard(), "");
    }

    #[test]
    fn clones_share_verdicts() {
        let tuned = Tuned::default();
        let clone = tuned.clone();
        tuned.set("a 1=0");
        assert_eq!(clone.row(format_args!("a 1"), 2, &|_| true), 0);
        assert!(!clone.is_empty());
    }
}
