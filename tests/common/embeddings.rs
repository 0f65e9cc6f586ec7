//! Embeddings of tokens as rows of a prompt.

use webgguf::gguf::{Gguf, dequantize};
use webgguf::model::program::Op;

/// `[ids, hidden]`: what the embedding of each id is, scaled as the model does.
pub fn embeddings(file: &[u8], gguf: &Gguf, ids: &[u32]) -> Vec<f32> {
    let program = webgguf::model::program(&webgguf::model::config(gguf).expect("a known model"));
    let Some(&Op::Embed { table, scale, .. }) = program.embed.first() else { panic!("no embedding") };
    let tensor = gguf.tensors.iter().find(|tensor| tensor.name == table.name()).expect("a table");
    let (width, rows) = (tensor.dims[0] as usize, tensor.dims[1] as usize);
    let row = tensor.bytes as usize / rows;
    let bytes = |id: u32| &file[tensor.offset as usize + id as usize * row..][..row];
    let mut all = vec![0.0; ids.len() * width];
    for (&id, out) in ids.iter().zip(all.chunks_exact_mut(width)) {
        dequantize(tensor.ty, bytes(id), out).expect("whole rows");
        out.iter_mut().for_each(|x| *x *= scale);
    }
    all
}
