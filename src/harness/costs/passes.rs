//! The work of all dispatches of a pass.

use super::{Scene, Work, work};
use crate::forward::{CHUNK, Forward, Plan};
use crate::kernels::caps::ActivationFormat;
use crate::kernels::spec::Dispatch;

/// A dispatch of a pass and its work.
#[derive(Debug, Clone, PartialEq)]
pub struct Costed {
    /// The kernel's variant.
    pub kernel: String,
    /// The name of the weight without its layer; empty where the kernel has no weight.
    pub tensor: String,
    /// The work of the dispatch.
    pub work: Work,
}

/// A model placed on a device.
#[derive(Clone, Copy)]
pub struct Costs<'a> {
    /// The dispatch lists.
    pub forward: Forward<'a>,
    /// The buffers.
    pub plan: &'a Plan,
}

impl Costs<'_> {
    /// Decode of one token at `position`, chosen greedily.
    ///
    /// # Errors
    /// As [`work`].
    pub fn decode(&self, position: u64) -> Result<Vec<Costed>, String> {
        let list = [self.forward.decode(1), self.forward.greedy(1)].concat();
        self.costed_list(&list, Scene::new(1, position))
    }

    /// Prefill of a prompt of `tokens` tokens, up to its first answer. Where activations are rounded, the last token
    /// has its own pass. Chunks that only fill the caches end in the last layer.
    ///
    /// # Errors
    /// As [`work`].
    pub fn prefill(&self, tokens: u64) -> Result<Vec<Costed>, String> {
        let (list, kept) = self.forward.prefill_and_kept();
        let rounded = self.forward.caps.activation_format != ActivationFormat::F32;
        let (chunk, many) = (CHUNK as u64, tokens - u64::from(rounded));
        let mut all = Vec::new();
        for position in (0..many).step_by(CHUNK) {
            let rows = chunk.min(many - position);
            let ends = !rounded && position + rows == many;
            all.extend(self.costed_list(if ends { &list } else { &list[..kept] }, Scene::new(rows, position))?);
        }
        if rounded {
            all.extend(self.decode(many)?);
        } else {
            let head = [self.forward.head(1), self.forward.greedy(1)].concat();
            all.extend(self.costed_list(&head, Scene::new(1, tokens - 1))?);
        }
        Ok(all)
    }

    fn costed_list(&self, list: &[Dispatch], scene: Scene) -> Result<Vec<Costed>, String> {
        let (smallest, _) = self.forward.caps.subgroup_sizes();
        let scene = Scene { subgroup: smallest.into(), ..scene };
        list.iter().map(|dispatch| self.costed(dispatch, scene)).collect()
    }

    fn costed(&self, dispatch: &Dispatch, scene: Scene) -> Result<Costed, String> {
        let work = work(dispatch, self.plan, scene)?;
        let bindings = dispatch.kernel.spec.bindings.iter().skip(1);
        let packed = bindings.zip(&dispatch.buffers).find(|(binding, _)| binding.name == "w_vec");
        let buffer = packed.and_then(|(_, slice)| self.plan.buffers.iter().find(|buffer| buffer.id == slice.buffer));
        let label = buffer.map_or("", |buffer| &buffer.label);
        let of_layer = label.strip_prefix("blk.").and_then(|rest| rest.split_once('.')).map(|(_, name)| name);
        let tensor = of_layer.unwrap_or(label).trim_end_matches(".weight").to_owned();
        Ok(Costed { kernel: dispatch.kernel.id.clone(), tensor, work })
    }
}
