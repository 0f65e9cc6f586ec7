//! GGUF files of the fixtures, loaded into a CPU model.

use std::path::{Path, PathBuf};

use webgguf::cpu::{CacheFormat, CpuModel, CpuModelBuilder};
use webgguf::gguf::{Gguf, HeaderReader};
use webgguf::model::match_tensors;

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models")
}

fn header(file: &[u8]) -> Gguf {
    let mut reader = HeaderReader::new(Some(file.len() as u64));
    reader.push(file).expect("a good header").expect("the whole header")
}

/// The model in these files, in the order of their parts, with room for all tokens it was trained for.
pub fn load(paths: &[PathBuf], cache: CacheFormat) -> CpuModel {
    load_by(paths, cache, |builder| builder)
}

/// The same with a builder that is changed before it takes a tensor.
pub fn load_by(
    paths: &[PathBuf],
    cache: CacheFormat,
    change: impl FnOnce(CpuModelBuilder) -> CpuModelBuilder,
) -> CpuModel {
    let files: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).expect("a file")).collect();
    let mut gguf = Gguf::join(files.iter().map(|file| header(file)).collect()).expect("parts of one model");
    let config = webgguf::model::config(&gguf).expect("good settings");
    if config.encoder.is_some() {
        webgguf::model::flatten(&mut gguf);
    }
    let mut builder = change(CpuModel::builder(config.clone()));
    for (index, spec) in match_tensors(&config, &gguf.tensors).expect("all tensors") {
        let tensor = &gguf.tensors[index];
        let bytes = &files[tensor.part][tensor.offset as usize..tensor.end() as usize];
        builder.put(&spec, tensor.ty, bytes.to_vec()).expect("bytes that fit");
    }
    let context_length = config.context_length;
    builder.build(context_length, cache).expect("a whole model")
}
