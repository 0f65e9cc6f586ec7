//! Models split over several files, as `llama-gguf-split` writes them.

use super::{Gguf, shown, table};
use crate::digest;
use crate::error::{Error, Result};

impl Gguf {
    /// The number of files that the model is split over: `split.count`, or 1.
    pub fn split_count(&self) -> Result<u64> {
        Ok(self.metadata.u64("split.count")?.unwrap_or(1).max(1))
    }

    /// Where the last tensor's data ends in file `part`, in bytes from its start; a shorter file is cut short.
    pub fn data_end(&self, part: usize) -> u64 {
        let ends = self.tensors.iter().filter(|tensor| tensor.part == part).map(|tensor| tensor.end());
        ends.max().unwrap_or(0)
    }

    /// Adds the tensors of another file, by other names, behind the `parts` files of this one.
    #[inline(never)]
    pub fn put_behind(&mut self, other: Gguf, parts: usize, renamed: impl Fn(&str) -> String) {
        let tensors = other.tensors.into_iter().map(|mut tensor| {
            (tensor.name, tensor.part) = (renamed(&tensor.name), tensor.part + parts);
            tensor
        });
        self.tensors.extend(tensors);
        self.digest = digest::extend(self.digest, &other.digest.to_le_bytes());
    }

    /// Makes one header of those of all files of a split model, in their order. A single unsplit file passes through.
    ///
    /// Metadata, version, alignment and `header_bytes` are those of the first file; `TensorInfo::part` says which file
    /// holds a tensor, and its offset counts from the start of that file.
    ///
    /// # Errors
    /// `bad_file` where a file is missing, out of order or of another model; `invalid_argument` without any file.
    pub fn join(parts: Vec<Gguf>) -> Result<Gguf> {
        let total = parts.len();
        for (index, part) in parts.iter().enumerate() {
            check_part(part, index, total, &parts[0])?;
        }
        let expected = parts.first().map_or(Ok(None), |first| first.metadata.u64("split.tensors.count"))?;
        let mut parts = parts.into_iter();
        let mut joined = parts.next().ok_or_else(|| Error::invalid_argument("no file to read, expected at least 1"))?;
        for (index, part) in parts.enumerate() {
            let tensors = part.tensors.into_iter().map(|mut tensor| {
                tensor.part = index + 1;
                tensor
            });
            joined.tensors.extend(tensors);
            joined.digest = digest::extend(joined.digest, &part.digest.to_le_bytes());
        }
        let found = joined.tensors.len() as u64;
        if let Some(expected) = expected.filter(|&expected| expected != found) {
            return Err(Error::bad_file(format!(
                "the {total} files of the split model hold {found} tensors, expected {expected} (`split.tensors.count`)"
            )));
        }
        table::check_names(&joined.tensors)?;
        Ok(joined)
    }
}

/// Checks what file `index` of `total` says about itself against its place and against the first file.
fn check_part(part: &Gguf, index: usize, total: usize, first: &Gguf) -> Result<()> {
    let number = index + 1;
    let count = part.split_count()?;
    if count != total as u64 {
        return Err(Error::bad_file(format!(
            "file {number} has `split.count` {count}, but the number of files given is {total}"
        )));
    }
    let no = part.metadata.u64("split.no")?;
    if total > 1 && no != Some(index as u64) {
        let found = no.map_or("no `split.no`".to_owned(), |no| format!("`split.no` {no}"));
        return Err(Error::bad_file(format!("file {number} of the split model has {found}, expected {index}")));
    }
    // Only the first file has to have these; what the others repeat must agree.
    for key in ["split.tensors.count", "general.architecture"] {
        let (expected, found) = (first.metadata.get(key), part.metadata.get(key));
        if found.is_some() && found != expected {
            let [found, expected] = [found, expected].map(|value| shown(&format!("{value:?}")));
            return Err(Error::bad_file(format!(
                "file {number} of the split model is of another one: `{key}` is {found}, in the first file {expected}"
            )));
        }
    }
    Ok(())
}
