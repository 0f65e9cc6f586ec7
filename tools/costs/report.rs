//! Dispatches of one kernel on one tensor together, as a table or as JSON.

use serde_json::json;
use webgguf::harness::costs::{Costed, Device, Time, Work};

/// The dispatches of one kernel on one tensor of all layers.
pub struct Group {
    name: String,
    count: u64,
    work: Work,
    time: Time,
}

impl Group {
    /// The groups of a pass, in the order of their first dispatches.
    pub fn all(device: &Device, dispatches: &[Costed]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for Costed { kernel, tensor, work } in dispatches {
            let name = format!("{kernel} {tensor}").trim_end().to_owned();
            let time = device.time(work);
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.add(work, time),
                None => groups.push(Self { name, count: 1, work: *work, time }),
            }
        }
        groups
    }

    fn add(&mut self, work: &Work, time: Time) {
        self.count += 1;
        self.time += time;
        self.work.weights += work.weights;
        self.work.memory += work.memory;
        self.work.again += work.again;
        self.work.flops += work.flops;
        self.work.int8 += work.int8;
        self.work.matrix += work.matrix;
        self.work.instructions += work.instructions;
        self.work.workgroups += work.workgroups;
    }

    /// Operations of products, whatever computes them.
    fn operations(&self) -> u64 {
        self.work.flops + self.work.int8 + self.work.matrix
    }
}

fn sum(groups: &[Group], of: impl Fn(&Group) -> f64) -> f64 {
    groups.iter().map(of).sum()
}

/// A number with three digits and a unit.
fn short(number: f64) -> String {
    let scales = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (number, unit) =
        scales.iter().find(|(scale, _)| number >= *scale).map_or((number, ""), |(s, u)| (number / s, u));
    let digits = if number >= 99.95 || unit.is_empty() {
        0
    } else if number >= 9.995 {
        1
    } else {
        2
    };
    format!("{number:.digits$}{unit}")
}

/// The table of a pass of `tokens` tokens, after which a page waits.
pub fn table(title: &str, tokens: u64, wait_us: f64, groups: &[Group]) -> String {
    let total = sum(groups, |group| group.time.total()) + wait_us;
    let head = [
        "kernel",
        "count",
        "weights",
        "other",
        "again",
        "operations",
        "workgroups",
        "µs each",
        "µs",
        "share",
        "bound by",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for group in groups {
        let (us, count) = (group.time.total(), group.count as f64);
        rows.push([
            group.name.clone(),
            group.count.to_string(),
            short(group.work.weights as f64),
            short(group.work.memory as f64),
            short(group.work.again as f64),
            short(group.operations() as f64),
            (group.work.workgroups / group.count).to_string(),
            format!("{:.1}", us / count),
            format!("{us:.0}"),
            format!("{:.1} %", 100.0 * us / total),
            group.time.bound().to_owned(),
        ]);
    }
    let widths: Vec<usize> =
        (0..head.len()).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &[String; 11]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 | 10 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut text = format!("{title}\n\n");
    rows.iter().for_each(|row| text += &format!("{}\n", line(row)));
    text + "\n" + &summary(tokens, wait_us, total, groups)
}

/// Where the time goes by its causes.
fn summary(tokens: u64, wait_us: f64, total: f64, groups: &[Group]) -> String {
    let mut time = Time::default();
    groups.iter().for_each(|group| time += group.time);
    let causes = time.causes().map(|(name, us)| format!("{name} {:.0} µs ({:.0} %)", us, 100.0 * us / total));
    let waits = if wait_us > 0.0 { format!(", wait of the page {wait_us:.0} µs") } else { String::new() };
    let bytes = sum(groups, |group| group.work.bytes() as f64);
    format!(
        "{} dispatches, {}B, {:.0} µs: {:.0} tokens/s\n{}{waits}\n",
        sum(groups, |group| group.count as f64),
        short(bytes),
        total,
        tokens as f64 / total * 1e6,
        causes.join(", "),
    )
}

/// The same as JSON.
pub fn json(title: &str, tokens: u64, wait_us: f64, groups: &[Group]) -> serde_json::Value {
    let total = sum(groups, |group| group.time.total()) + wait_us;
    let row = |group: &Group| {
        let Work { weights, memory, again, workgroups, .. } = group.work;
        let causes: serde_json::Map<_, _> =
            group.time.causes().into_iter().map(|(name, us)| (name.to_owned(), us.into())).collect();
        json!({
            "kernel": group.name, "count": group.count, "weights": weights, "memory": memory, "again": again,
            "operations": group.operations(), "workgroups": workgroups / group.count, "us": group.time.total(),
            "causes": causes, "bound": group.time.bound(),
        })
    };
    let rows: Vec<_> = groups.iter().map(row).collect();
    let rate = tokens as f64 / total * 1e6;
    json!({ "pass": title, "tokens": tokens, "us": total, "tokens_per_second": rate, "rows": rows })
}
