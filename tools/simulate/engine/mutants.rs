//! Kernels with a fault made on purpose, each of which the simulator must find.

use std::collections::BTreeMap;

use super::code::{Op, Program, Site};
use super::run::{Options, Outcome, Programs, run};
use super::suite::Group;

/// What is changed in the programs of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// No barrier there.
    Barrier(Site),
    /// An infinity in place of the number that stands for one.
    Infinity(u32),
    /// A subgroup of half the size that the kernel was made for.
    Half,
    /// And of twice that.
    Twice,
}

/// A mutant and where it is.
#[derive(Debug, Clone)]
pub struct Found {
    pub mutant: Mutant,
    /// The line of the barrier, or the number.
    pub place: String,
    /// What the simulator says; `None` where it finds nothing.
    pub told: Option<String>,
}

/// Changes a program, where it has what is changed.
fn change(program: &mut Program, mutant: &Mutant) -> bool {
    let mut did = false;
    match mutant {
        Mutant::Barrier(site) => {
            for (_, at) in program.barriers.iter().filter(|(of, _)| of == site) {
                program.ops[*at as usize] = Op::Jump { to: at + 1 };
                did = true;
            }
        }
        Mutant::Infinity(bits) => {
            let infinity = f32::INFINITY.copysign(f32::from_bits(*bits)).to_bits();
            for reg in &program.extremes {
                let value = &mut program.registers[*reg as usize];
                did |= *value == *bits;
                *value = if *value == *bits { infinity } else { *value };
            }
        }
        Mutant::Half | Mutant::Twice => did = true,
    }
    did
}

fn all(programs: &Programs, subgroup: u32) -> BTreeMap<Mutant, String> {
    let mut found = BTreeMap::new();
    for program in programs.made() {
        for (site, at) in &program.barriers {
            found.entry(Mutant::Barrier(site.clone())).or_insert_with(|| program.quote(*at));
        }
        for reg in &program.extremes {
            let bits = program.registers[*reg as usize];
            found.entry(Mutant::Infinity(bits)).or_insert_with(|| f32::from_bits(bits).to_string());
        }
    }
    if subgroup > 0 {
        found.insert(Mutant::Half, format!("subgroups of {}", subgroup / 2));
        found.insert(Mutant::Twice, format!("subgroups of {}", subgroup * 2));
    }
    found
}

/// Cases of a group that take too long and are tried all the same, as far as they come.
const LONG: usize = 6;

/// Runs a group with every mutant: the cases in which nothing is wrong without, the cheapest first, until there is.
pub fn mutants(group: &Group, options: &Options) -> Vec<Found> {
    let mut programs = Programs::default();
    let mut costs: Vec<(u64, usize)> = Vec::new();
    let mut long = 0;
    for (i, case) in group.cases.iter().enumerate() {
        match run(case, &mut programs, options) {
            Outcome::Right { fuel, .. } => costs.push((fuel, i)),
            Outcome::TooLong if long < LONG => {
                costs.push((options.fuel, i));
                long += 1;
            }
            _ => {}
        }
    }
    costs.sort_unstable();
    let tried = |(mutant, place): (Mutant, String)| {
        let size = group.subgroup;
        let subgroup = match mutant {
            Mutant::Half => size / 2,
            Mutant::Twice => size * 2,
            _ => options.subgroup,
        };
        let options = Options { subgroup, ..options.clone() };
        let mut changed = programs.clone();
        changed.change(|program| change(program, &mutant));
        let mut told = None;
        for (_, i) in &costs {
            let case = &group.cases[*i];
            if !case.dispatches.iter().any(|of| changed.is_changed(&of.kernel)) {
                continue;
            }
            if let Outcome::Wrong(text) = run(case, &mut changed, &options) {
                told = Some(text);
                break;
            }
        }
        Found { mutant, place, told }
    };
    all(&programs, group.subgroup).into_iter().map(tried).collect()
}
