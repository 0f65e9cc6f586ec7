//! The files of a model: one, or the parts that `llama-gguf-split` makes of it.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use crate::gguf::{Gguf, HeaderReader, TensorInfo, row_bytes};
use crate::runtime::RowSource;
use crate::{Error, ErrorCode, Result};

/// Bytes of a header that are read at once.
const HEADER_STEP: usize = 256 << 10;

/// An open file.
pub struct Part {
    name: String,
    file: RefCell<File>,
    size: u64,
}

impl Part {
    fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let open = || {
            let file = File::open(path)?;
            let size = file.metadata()?.len();
            Ok((RefCell::new(file), size))
        };
        let (file, size) = open().map_err(|error: std::io::Error| unreadable(&name, &error))?;
        Ok(Self { name, file, size })
    }

    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// `download_failed` where the file cannot be read, or is shorter.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut file = self.file.borrow_mut();
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(out));
        read.map_err(|error| unreadable(&self.name, &error))
    }

    fn header(&self) -> Result<Gguf> {
        let named = |error: Error| Error::new(error.code(), format!("{}: {}", self.name, error.message()));
        let mut header = HeaderReader::new(Some(self.size));
        let mut step = vec![0; HEADER_STEP];
        let mut position = 0;
        while position < self.size {
            let bytes = HEADER_STEP.min((self.size - position) as usize);
            self.read(position, &mut step[..bytes])?;
            if let Some(gguf) = header.push(&step[..bytes]).map_err(named)? {
                return Ok(gguf);
            }
            position += bytes as u64;
        }
        Err(named(header.finish()))
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorCode::DownloadFailed, format!("{name}: {error}"))
}

/// Opens the file at `path` and, where it is the first part of a split model, the parts beside it. Returns their joined
/// header, too.
///
/// # Errors
/// `download_failed` for a file that cannot be read, `bad_file` for one that is no GGUF, is cut short, or is not the
/// first part.
pub fn open(path: &Path) -> Result<(Gguf, Vec<Part>)> {
    let first = Part::open(path)?;
    let mut headers = vec![first.header()?];
    let mut parts = vec![first];
    let count = headers[0].split_count()?;
    for number in 2..=count {
        let part = Part::open(&sibling(path, number, count)?)?;
        headers.push(part.header()?);
        parts.push(part);
    }
    let gguf = Gguf::join(headers)?;
    for (index, part) in parts.iter().enumerate() {
        let end = gguf.data_end(index);
        if part.size < end {
            let message = format!("{} is cut short: {} bytes, its tensors end at {end}", part.name, part.size);
            return Err(Error::bad_file(message));
        }
    }
    Ok((gguf, parts))
}

/// The path of another part: names end with `-00001-of-00003.gguf`.
fn sibling(first: &Path, number: u64, count: u64) -> Result<PathBuf> {
    let name = first.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(stem) = name.strip_suffix(&format!("-00001-of-{count:05}.gguf")) else {
        let message =
            format!("{name} is a part of a model of {count} files: its name should end with -00001-of-{count:05}.gguf");
        return Err(Error::bad_file(message));
    };
    Ok(first.with_file_name(format!("{stem}-{number:05}-of-{count:05}.gguf")))
}

/// A table of which only some rows are on the GPU, and its file.
pub struct TableInFile {
    part: Part,
    offset: u64,
    row_bytes: u64,
}

impl TableInFile {
    /// The table in the part that holds it.
    ///
    /// # Errors
    /// `unsupported_quant` for a type that is unknown.
    pub fn new(part: Part, tensor: &TensorInfo) -> Result<Self> {
        let row_bytes = row_bytes(tensor.ty, tensor.dims.first().copied().unwrap_or(1))?;
        Ok(Self { part, offset: tensor.offset, row_bytes })
    }

    fn rows(&self, rows: &[u32]) -> Result<Vec<u8>> {
        let mut bytes = vec![0; rows.len() * self.row_bytes as usize];
        for (row, out) in rows.iter().zip(bytes.chunks_exact_mut(self.row_bytes as usize)) {
            self.part.read(self.offset + u64::from(*row) * self.row_bytes, out)?;
        }
        Ok(bytes)
    }
}

impl RowSource for TableInFile {
    fn read<'a>(&'a self, rows: &'a [u32]) -> Pin<Box<dyn Future<Output = Result<Vec<u8>>> + 'a>> {
        Box::pin(async { self.rows(rows) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_beside_the_first() {
        let path = Path::new("models/big-00001-of-00012.gguf");
        assert_eq!(sibling(path, 12, 12).expect("a good name"), Path::new("models/big-00012-of-00012.gguf"));
        let error = sibling(path, 2, 3).expect_err("another count");
        assert_eq!(error.code(), ErrorCode::BadFile);
        assert!(error.message().contains("-00001-of-00003.gguf"), "{error}");
    }
}
