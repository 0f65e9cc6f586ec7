//! Two-dimensional dispatches, as they are used where one axis of a grid cannot have enough workgroups: a small case of
//! each kernel that supports them, with half as many workgroups along the first axis, and one too many where they were
//! odd. Families whose smallest case would not show a workgroup left out fold one of theirs themselves.

use std::collections::BTreeMap;

use super::Case;
use crate::kernels::spec::{Dispatch, Extent};

/// For each kernel that `cases` run, the smallest case with three workgroups or more, dispatched in two dimensions: one
/// of the kernel alone where there is one, since others may hide what it does wrong.
pub fn cases(cases: &[Case]) -> Vec<Case> {
    let mut folds = BTreeMap::new();
    let mut smallest: BTreeMap<&str, &Case> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.needs.is_none() && case.pass.rows.iter().all(|row| row.flags == 0)) {
        for dispatch in &case.dispatches {
            let kernel_name = dispatch.kernel.spec.kernel_name;
            // A kernel supports this if it asks for the number of workgroups along the first axis.
            let can = *folds.entry(kernel_name).or_insert_with(|| asks_for_width(&dispatch.kernel.wgsl()));
            if can && matches!(dispatch.grid, [Extent::Fixed(3..), Extent::Fixed(1), Extent::Fixed(1)]) {
                let best = smallest.entry(kernel_name).or_insert(case);
                let rank = |case: &Case| (case.dispatches.len() > 1, case.traffic());
                *best = if rank(case) < rank(best) { case } else { best };
            }
        }
    }
    smallest.into_iter().map(|(kernel_name, case)| folded(kernel_name, case)).collect()
}

fn asks_for_width(wgsl: &str) -> bool {
    [".x + group.x", ".x + group_id.x"].iter().any(|sum| wgsl.contains(sum))
}

/// The case with the grids of this kernel in two dimensions.
pub fn folded(kernel_name: &str, case: &Case) -> Case {
    let fold = |dispatch: &Dispatch| match dispatch.grid {
        [Extent::Fixed(count), Extent::Fixed(1), z] if dispatch.kernel.spec.kernel_name == kernel_name => {
            Dispatch { grid: [Extent::Fixed(count.div_ceil(2)), Extent::Fixed(2), z], ..dispatch.clone() }
        }
        _ => dispatch.clone(),
    };
    let dispatches = case.dispatches.iter().map(fold).collect();
    Case { dispatches, name: format!("{}, {kernel_name} in a folded grid", case.name), ..case.clone() }
}
