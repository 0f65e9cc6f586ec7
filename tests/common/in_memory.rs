//! GGUF files in memory, loaded on the GPU and on the CPU, and what runs on them at the same time.

use std::task::Poll;

use webgguf::cpu::{CacheFormat, CpuModel};
use webgguf::gguf::{Gguf, HeaderReader};
use webgguf::model::match_tensors;
use webgguf::runtime::{AnySession, Engine, GpuModelBuilder};
use webgguf::tokenizer::Tokenizer;

pub fn header(file: &[u8]) -> Gguf {
    let mut reader = HeaderReader::new(Some(file.len() as u64));
    let mut gguf = reader.push(file).expect("a good header").expect("a whole header");
    webgguf::model::flatten(&mut gguf);
    gguf
}

/// Gives a builder all weights of a file.
pub fn put_weights(builder: &mut GpuModelBuilder, file: &[u8], gguf: &Gguf) {
    for (index, tensor) in gguf.tensors.iter().enumerate() {
        let mut at = tensor.offset as usize;
        for slice in builder.slices(index) {
            let bytes = &file[at..at + slice.bytes as usize];
            builder.put(index, &slice, bytes).expect("a good slice");
            at += bytes.len();
        }
    }
}

pub fn cpu_model(file: &[u8], context: usize, format: CacheFormat) -> CpuModel {
    let gguf = header(file);
    let config = webgguf::model::config(&gguf).expect("a known model");
    let mut builder = CpuModel::builder(config.clone());
    for (index, spec) in match_tensors(&config, &gguf.tensors).expect("all tensors") {
        let tensor = &gguf.tensors[index];
        let bytes = &file[tensor.offset as usize..(tensor.offset + tensor.bytes) as usize];
        builder.put(&spec, tensor.ty, bytes.to_vec()).expect("a good tensor");
    }
    builder.build(context, format).expect("all tensors")
}

pub fn engine_of(session: AnySession, file: &[u8]) -> Engine {
    Engine::new(session, Tokenizer::from_metadata(&header(file).metadata).expect("a vocabulary"))
}

/// All futures at once.
pub async fn together<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, found) in running.iter_mut().filter(|(_, found)| found.is_none()) {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                *found = Some(value);
            }
        }
        if running.iter().all(|(_, found)| found.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, found)| found).collect()
}
