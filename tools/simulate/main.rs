//! Runs every kernel case on a simulator that is stricter than any GPU: `npm run simulate`.

mod engine;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::mutants::{Mutant, mutants};
use engine::run::{Options, Outcome, Programs, run};
use engine::suite::{Group, SUBGROUPS, groups, is_listed, known};

const HELP: &str = "npm run simulate -- [options]
  --only TEXT        kernels whose name has this text
  --seed N           of orders, roundings and errors; 2. Even seeds flush subnormal numbers to zero
  --subgroups A,B    sizes of subgroups; 0,4,8,16,32,64,128, where 0 is a device without
  --fuel N           millions of instructions that a case may take; 20
  --exact            exp, division and the like are as exact as f32 can be
  --write FILE       lists the groups without a fault, with digests, in a file
  --changed FILE     leaves out the groups that such a file lists with the same digest
  --mutants          the same with faults made on purpose: which of them are found";

/// What the command line asks for.
struct Asked {
    only: String,
    seed: u64,
    fuel: u64,
    sizes: Vec<u32>,
    exact: bool,
    write: Option<String>,
    listed: String,
    mutants: bool,
}

impl Asked {
    fn of(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let sizes = [0].into_iter().chain(SUBGROUPS).collect();
        let mut asked = Self {
            only: String::new(),
            seed: 2,
            fuel: 20,
            sizes,
            exact: false,
            write: None,
            listed: String::new(),
            mutants: false,
        };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{name} wants a value"));
            let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
            match name.as_str() {
                "--only" => asked.only = value()?,
                "--seed" => asked.seed = number(&value()?)?,
                "--fuel" => asked.fuel = number(&value()?)?,
                "--subgroups" => {
                    let sizes = value()?;
                    let sizes = sizes.split(',').map(|size| number(size).map(|size| size as u32));
                    asked.sizes = sizes.collect::<Result<_, _>>()?;
                }
                "--changed" => {
                    let path = value()?;
                    asked.listed = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
                }
                "--write" => asked.write = Some(value()?),
                "--exact" => asked.exact = true,
                "--mutants" => asked.mutants = true,
                _ => return Err(HELP.to_owned()),
            }
        }
        Ok(asked)
    }

    fn wants(&self, group: &Group) -> bool {
        group.kernel_name.contains(&self.only) && (self.listed.is_empty() || !is_listed(group, &self.listed))
    }

    fn options(&self, group: &Group) -> Options {
        Options { seed: self.seed, rough: !self.exact, subgroup: group.subgroup.max(4), fuel: self.fuel * 1_000_000 }
    }
}

/// What all groups together came to.
#[derive(Default)]
struct Total {
    right: usize,
    wrong: usize,
    known: usize,
    too_long: usize,
    unsupported: usize,
    mutants: BTreeMap<&'static str, [usize; 2]>,
    /// Lines for `tests/fixtures/simulated.txt`.
    agreed: Vec<String>,
}

impl Total {
    /// Counts a case that is not right, and says why.
    fn count(&mut self, group: &Group, outcome: Outcome) -> String {
        let wrong = match outcome {
            Outcome::Right { .. } => return String::new(),
            Outcome::TooLong => {
                self.too_long += 1;
                return "too long".to_owned();
            }
            Outcome::Unsupported(text) => {
                self.unsupported += 1;
                return format!("not supported: {text}");
            }
            Outcome::Wrong(text) => text,
        };
        if let Some(why) = known(group.kernel_name, &wrong) {
            self.known += 1;
            return format!("known, {why}: {wrong}");
        }
        self.wrong += 1;
        format!("wrong: {wrong}")
    }

    fn add(&mut self, other: Self) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.known += other.known;
        self.too_long += other.too_long;
        self.unsupported += other.unsupported;
        self.agreed.extend(other.agreed);
    }
}

fn main() {
    let asked = Asked::of(std::env::args().skip(1)).unwrap_or_else(|told| {
        eprintln!("{told}");
        std::process::exit(2)
    });
    let made = asked.sizes.iter().flat_map(|&size| groups(size));
    let groups: Vec<Group> = made.filter(|group| asked.wants(group)).collect();
    println!("seed {}: {} cases", asked.seed, groups.iter().map(|group| group.cases.len()).sum::<usize>());
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Total::default());
    let work = || {
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            match asked.mutants {
                true => with_mutants(group, &asked, &total),
                false => cases(group, &asked, &total),
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let total = total.into_inner().unwrap_or_default();
    for (kind, [found, all]) in &total.mutants {
        println!("{kind}: {found} of {all} found");
    }
    let Total { right, wrong, known, too_long, unsupported, .. } = total;
    println!("{right} cases right, {wrong} wrong, {known} with known faults, {too_long} too long");
    println!("{unsupported} cases not supported");
    if let Some(path) = &asked.write {
        let mut lines = total.agreed;
        lines.sort();
        if let Err(error) = std::fs::write(path, lines.concat()) {
            eprintln!("{path}: {error}");
        }
    }
    std::process::exit(i32::from(wrong + unsupported > 0));
}

fn cases(group: &Group, asked: &Asked, total: &Mutex<Total>) {
    let (mut programs, options) = (Programs::default(), asked.options(group));
    let start = std::time::Instant::now();
    let (mut sum, mut worst, mut instructions) = (Total::default(), 0f32, 0);
    let mut told: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for case in &group.cases {
        let outcome = run(case, &mut programs, &options);
        if let Outcome::Right { of_limit, fuel } = outcome {
            (sum.right, worst, instructions) = (sum.right + 1, worst.max(of_limit), instructions + fuel);
            continue;
        }
        let text = sum.count(group, outcome);
        let kind = text.split([':', ',']).next().unwrap_or_default();
        told.entry(format!("{} {kind}", case.variant)).or_insert((0, format!("({}) {text}", case.name))).0 += 1;
    }
    let seconds = start.elapsed().as_secs_f32();
    let millions = instructions / 1_000_000;
    let mut lines = format!(
        "{}: {} of {} cases right, error {worst:.2} of what is tolerated, {millions} M instructions, {seconds:.1} s\n",
        group.name(),
        sum.right,
        group.cases.len()
    );
    told.iter().for_each(|(kind, (count, text))| lines += &format!("  {kind}: {count} {text}\n"));
    print!("{lines}");
    if sum.wrong + sum.unsupported == 0 {
        sum.agreed.push(format!("{} {}\n", group.name(), group.digest()));
    }
    total.lock().expect("no thread panics").add(sum);
}

fn with_mutants(group: &Group, asked: &Asked, total: &Mutex<Total>) {
    for found in mutants(group, &asked.options(group)) {
        let kind = match found.mutant {
            Mutant::Barrier(_) => "barriers removed",
            Mutant::Infinity(_) => "masks by infinity",
            Mutant::Half | Mutant::Twice => "sizes of subgroups",
        };
        let told = found.told.as_ref().map_or("NOT FOUND".to_owned(), |told| format!("found: {told}"));
        println!("{} {:?} ({}): {told}", group.name(), found.mutant, found.place);
        let mut total = total.lock().expect("no thread panics");
        let counts = total.mutants.entry(kind).or_default();
        *counts = [counts[0] + usize::from(found.told.is_some()), counts[1] + 1];
    }
}
