//! `prism.hadamard.*`: matrices that the file has rotated, and the signs of what they multiply.

use super::asked::is_none;
use super::{Keys, unsupported};
use crate::error::{Error, Result};
use crate::gguf::{Gguf, shown};
use crate::kernels::hadamard::MAX_BLOCK;
use crate::model::Rotation;
use crate::model::roles::{EMBEDDING, HEAD};
use crate::sort::sorted_indices;

/// What begins the names of its keys.
pub(super) const PREFIX: &str = "prism.hadamard.";

/// The keys, all of which are read.
const KEYS: &str = "version block_size transform axis sign_mode sign_widths sign_values weight_names \
    inverse_weight_names tied_output gdn_v_grouped";

/// Keys with one value that is known.
const ONLY: [(&str, &str); 2] =
    [("transform", "normalized-sylvester-walsh-hadamard"), ("axis", "input-last-dimension")];

/// The rotated matrices of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotations {
    /// A power of two.
    block: usize,
    /// A rotation for each width of x that has signs; empty where no signs change.
    signs: Vec<Rotation>,
    /// The names of rotated matrices, in order.
    pub names: Vec<String>,
    /// Whether rows of the embedding table are rotated.
    pub has_table: bool,
    /// Whether the heads of values that `ssm_out` multiplies are regrouped by heads of keys.
    pub is_regrouped: bool,
}

impl Rotations {
    /// Reads and checks the keys, and the tensors that they name.
    pub fn read(gguf: &Gguf) -> Result<Option<Self>> {
        let metadata = &gguf.metadata;
        let is_set = |key: &&str| key.starts_with(PREFIX) && metadata.get(key).is_some_and(|value| !is_none(value));
        let Some(key) = metadata.keys().find(is_set) else { return Ok(None) };
        let keys = Keys { metadata, architecture: "prism.hadamard" };
        let of = |key: &&str| !KEYS.split(' ').any(|known| key.strip_prefix(PREFIX) == Some(known));
        if let Some(key) = metadata.keys().filter(|key| key.starts_with(PREFIX)).find(of) {
            return Err(unsupported(format!("metadata `{}`: what it asks for is not supported", shown(key))));
        }
        let Some(version) = metadata.u64(&keys.name("version"))? else {
            return Err(Error::bad_file(format!("metadata `{PREFIX}version` is missing beside `{}`", shown(key))));
        };
        if !(1..=2).contains(&version) {
            return Err(unsupported(format!("metadata `{PREFIX}version`: expected 1 or 2, found {version}")));
        }
        for (key, known) in ONLY {
            one_of(&keys, key, &[known])?;
        }
        let is_signed = one_of(&keys, "sign_mode", &["identity", "explicit"])? == "explicit";
        let block = keys.required("block_size", MAX_BLOCK)?;
        if !block.is_power_of_two() {
            return Err(Error::bad_file(format!(
                "metadata `{PREFIX}block_size`: expected a power of 2, found {block}"
            )));
        }
        let signs = if is_signed { signs(&keys, block)? } else { Vec::new() };
        let mut names = names(&keys, "weight_names")?;
        if names.is_empty() {
            return Err(Error::bad_file(format!(
                "metadata `{PREFIX}weight_names` names 0 tensors, expected at least 1"
            )));
        }
        let inverse = self::names(&keys, "inverse_weight_names")?;
        if let Some(name) = inverse.iter().find(|name| *name != EMBEDDING) {
            let message =
                format!("metadata `{PREFIX}inverse_weight_names`: expected {EMBEDDING}, found {}", shown(name));
            return Err(unsupported(message));
        }
        let has_table = !inverse.is_empty();
        check_head(gguf, &keys, (version, has_table), &mut names)?;
        let is_regrouped = metadata.bool(&keys.name("gdn_v_grouped"))?.unwrap_or(false);
        let made = Self { block, signs, names, has_table, is_regrouped };
        made.names.iter().chain(&inverse).try_for_each(|name| made.check(gguf, name))?;
        Ok(Some(made))
    }

    /// Checks that a named tensor is there, and that there are signs for its rows.
    fn check(&self, gguf: &Gguf, name: &str) -> Result<()> {
        let Some(tensor) = gguf.tensors.iter().find(|tensor| tensor.name == name) else {
            return Err(Error::bad_file(format!(
                "tensor {} of metadata `{PREFIX}weight_names` is missing",
                shown(name)
            )));
        };
        let (cols, block) = (tensor.dims[0], self.block);
        if !cols.is_multiple_of(block as u64) {
            let message = format!("tensor {name}: rows of {cols} are not whole blocks of {block}");
            return Err(Error::bad_file(format!("{message}, as metadata `{PREFIX}block_size` says")));
        }
        if !self.signs.is_empty() && !self.signs.iter().any(|of| of.width as u64 == cols) {
            let widths: Vec<String> = self.signs.iter().map(|of| of.width.to_string()).collect();
            let message = format!("tensor {name}: metadata `{PREFIX}sign_widths` has no {cols}");
            return Err(Error::bad_file(format!("{message}, but {}", widths.join(", "))));
        }
        Ok(())
    }

    /// The rotation of rows of `width` values.
    pub fn of(&self, width: usize) -> Rotation {
        let plain = || Rotation { block: self.block, width, ..Rotation::default() };
        self.signs.iter().find(|of| of.width == width).cloned().unwrap_or_else(plain)
    }
}

/// The value of a key, which is one of these.
fn one_of<'a>(keys: &Keys<'a>, key: &str, known: &[&str]) -> Result<&'a str> {
    match keys.metadata.str(&keys.name(key))? {
        Some(value) if known.contains(&value) => Ok(value),
        Some(other) => {
            let message =
                format!("metadata `{PREFIX}{key}`: expected {}, found {:?}", known.join(" or "), shown(other));
            Err(unsupported(message))
        }
        None => Err(Error::bad_file(format!("metadata `{PREFIX}{key}` is missing"))),
    }
}

/// Names of tensors, each once.
fn names(keys: &Keys, key: &str) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for name in keys.metadata.strings(&keys.name(key))?.into_iter().flat_map(|names| names.iter()) {
        names.push(String::from_utf8_lossy(name).into_owned());
    }
    let order = sorted_indices(names.len(), &mut |a, b| names[a] < names[b]);
    let names: Vec<String> = order.into_iter().map(|at| std::mem::take(&mut names[at])).collect();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::bad_file(format!("metadata `{PREFIX}{key}` names {} twice", shown(&pair[0])))),
        None => Ok(names),
    }
}

/// Signs for each width of x, one after the other.
fn signs(keys: &Keys, block: usize) -> Result<Vec<Rotation>> {
    let numbers = |key| Ok::<_, Error>(keys.metadata.i32s(&keys.name(key))?.unwrap_or_default());
    let (widths, values) = (numbers("sign_widths")?, numbers("sign_values")?);
    let total: i64 = widths.iter().map(|&width| i64::from(width)).sum();
    if widths.is_empty() || total != values.len() as i64 {
        let message = format!("{} values, expected {total} for the {} of", values.len(), widths.len());
        return Err(Error::bad_file(format!("metadata `{PREFIX}sign_values`: {message} `{PREFIX}sign_widths`")));
    }
    if let Some(value) = values.iter().find(|value| value.abs() != 1) {
        return Err(Error::bad_file(format!("metadata `{PREFIX}sign_values`: expected 1 or -1, found {value}")));
    }
    let mut made: Vec<Rotation> = Vec::new();
    let mut rest = values.as_slice();
    for width in widths {
        let count = usize::try_from(width).unwrap_or(0);
        if count == 0 || !count.is_multiple_of(block) || count > rest.len() || made.iter().any(|of| of.width == count) {
            let message = format!("expected each multiple of {block} once, found {width}");
            return Err(Error::bad_file(format!("metadata `{PREFIX}sign_widths`: {message}")));
        }
        let (own, others) = rest.split_at(count);
        let word = |signs: &[i32]| signs.iter().enumerate().fold(0, |word, (i, &sign)| word | u32::from(sign < 0) << i);
        let signs = own.chunks(32).map(word).collect();
        made.push(Rotation { block, width: count, signs, ..Rotation::default() });
        rest = others;
    }
    Ok(made)
}

/// Version 2 is for files whose head is the rotated embedding table, which is then a rotated matrix, too.
fn check_head(gguf: &Gguf, keys: &Keys, (version, has_table): (u64, bool), names: &mut Vec<String>) -> Result<()> {
    let wrong = |what: &str| Err(Error::bad_file(format!("metadata `{PREFIX}tied_output`: {what}")));
    let is_tied = keys.metadata.bool(&keys.name("tied_output"))?.unwrap_or(false);
    let has_head = gguf.tensors.iter().any(|tensor| tensor.name == HEAD);
    if is_tied != (version == 2) {
        return wrong(&format!("expected {} in version {version}, found {is_tied}", version == 2));
    }
    if is_tied && (has_head || !has_table) {
        return wrong("expected no output.weight, and token_embd.weight in `prism.hadamard.inverse_weight_names`");
    }
    if has_table && !has_head && !is_tied {
        return wrong("expected true where token_embd.weight is rotated and the head, found false");
    }
    if names.iter().any(|name| name == EMBEDDING) {
        return wrong("token_embd.weight is no matrix of `prism.hadamard.weight_names`");
    }
    if is_tied {
        names.push(EMBEDDING.to_owned());
    }
    Ok(())
}
