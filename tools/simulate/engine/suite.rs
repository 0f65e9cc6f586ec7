//! Which cases run on which devices.

use std::collections::BTreeMap;

use webgguf::harness::{Case, Expected, cases};
use webgguf::kernels::caps::Caps;
use webgguf::kernels::spec::Dispatch;

/// Subgroups that devices have.
pub const SUBGROUPS: [u32; 6] = [4, 8, 16, 32, 64, 128];

/// Cases of a kernel on a device with subgroups of this size; 0 is a device without.
pub struct Group {
    pub kernel_name: &'static str,
    pub subgroup: u32,
    pub cases: Vec<Case>,
}

impl Group {
    /// As digests and logs name it.
    pub fn name(&self) -> String {
        match self.subgroup {
            0 => self.kernel_name.to_owned(),
            size => format!("{}@{size}", self.kernel_name),
        }
    }
}

/// Whether the subgroups that a kernel is for fit into its workgroups: `mat_vec` chooses no other rows, but its cases
/// have them all.
fn fits(dispatch: &Dispatch) -> bool {
    let constants = &dispatch.kernel.constants;
    let value = |name| constants.iter().find(|(of, _)| *of == name).map_or(0.0, |(_, value)| *value);
    value("LANES") <= value("WG_SIZE")
}

/// The cases that a device with subgroups of this size runs: where it has subgroups, those alone that use them.
pub fn groups(subgroup: u32) -> Vec<Group> {
    let plain = Caps { dot4: true, vendor: "nvidia".into(), ..Caps::baseline() };
    let caps = match subgroup {
        0 => plain,
        size => Caps { subgroups: true, subgroup_size: (size, size), ..plain },
    };
    let mut by_kernel: BTreeMap<&str, Vec<Case>> = BTreeMap::new();
    for case in cases(&caps) {
        let subgroups = case.dispatches.iter().any(|dispatch| dispatch.kernel.enables.contains(&"subgroups"));
        if subgroups == (subgroup > 0) && case.needs.is_none() && case.dispatches.iter().all(fits) {
            by_kernel.entry(case.kernel_name).or_default().push(case);
        }
    }
    by_kernel.into_iter().map(|(kernel_name, cases)| Group { kernel_name, subgroup, cases }).collect()
}

/// What the simulator finds and WGSL does not allow, but every known device does: kernel, words of what is said, why.
pub const KNOWN: &[(&str, &str, &str)] = &[
    ("find_rows", "done = WAITING", "several threads write the same value to the same word"),
    ("attention_strided", "added > -1.0e38", "a page's mask may hold -infinity"),
    ("compute/attention_forward", "added > -1.0e38", "a page's mask may hold -infinity"),
    ("compute/attention_weights", "added > -1.0e38", "a page's mask may hold -infinity"),
    ("compute/attention_grad", "added > -1.0e38", "a page's mask may hold -infinity"),
    ("elementwise", "elementwise.pow", "log2(1) may be 2^-21, which a large power makes much of"),
    ("softmax", "s > largest", "a page's mask may hold -infinity"),
    ("softmax", "sign(t)", "the case has infinities and NaN on purpose"),
    ("sample", "found_bin = lane", "prefix sums are not monotonous to the last bit, so two threads may find a bin"),
    ("sample", "key < 16777216.0", "a suppressed id is an infinity below the best"),
    ("sample", "logit * repetition", "the case has logits that are no numbers on purpose"),
    ("reduce", "element", "the largest and the smallest begin with an infinity"),
    ("penalties", "): element", "sums in fixed point, bit for bit, of weights by an exponential that WGSL lets vary"),
    ("rope_batch", "qkv[start", "what is read is in workgroup memory before the barrier, so nothing can read it later"),
    ("rope_kv", "v_cache[to + i]", "the case has a cache of fewer positions than the row's"),
    ("mat_mul", "elementwise_in_place.fused2", "padding behind the last element: what becomes of it nobody reads"),
    ("mat_vec", " of parts", "a sum that nothing uses is read one past the end, with subgroups of 4"),
    ("mat_vec_experts", " of parts", "a sum that nothing uses is read one past the end, with subgroups of 4"),
    ("swiglu", " of parts", "a sum that nothing uses is read one past the end, with subgroups of 4"),
];

/// Why a fault that is told is no surprise.
pub fn known(kernel_name: &str, told: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(kernel, text, _)| *kernel == kernel_name && told.contains(text)).map(|(.., why)| *why)
}

/// Files of `tests/fixtures/simulated.txt`: a line for each group that had no fault, with its digest.
pub fn is_listed(group: &Group, listed: &str) -> bool {
    let line = format!("{} {}", group.name(), group.digest());
    listed.lines().any(|of| of == line)
}

/// FNV-1a, eight bytes at a time: the same on every machine with little endian.
struct Fnv(u64);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29);
    }
}

impl Group {
    /// A digest of all that the simulator is given, and of what is expected.
    pub fn digest(&self) -> String {
        let mut digest = Fnv(0xcbf2_9ce4_8422_2325);
        for Case { name, dispatches, buffers, output, expected, pass, .. } in &self.cases {
            digest.bytes(name.as_bytes());
            for Dispatch { kernel, params, buffers, grid } in dispatches {
                digest.bytes(kernel.key().as_bytes());
                digest.bytes(kernel.wgsl().as_bytes());
                digest.bytes(params);
                digest.bytes(format!("{buffers:?} {grid:?}").as_bytes());
            }
            for (id, contents) in buffers {
                digest.word(id.0.into());
                digest.bytes(contents);
            }
            digest.word(output.0.into());
            digest.bytes(format!("{:?} {pass:?}", expected.tolerance()).as_bytes());
            match expected {
                Expected::Close(values, _) => values.iter().for_each(|value| digest.word(value.to_bits().into())),
                Expected::Halves(values, _) => values.iter().for_each(|value| digest.word((*value).into())),
                Expected::Exact(words) => words.iter().for_each(|word| digest.word((*word).into())),
            }
        }
        format!("{:016x}", digest.0)
    }
}
