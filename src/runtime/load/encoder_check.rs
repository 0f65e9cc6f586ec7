//! What the [self-check](super::self_check) runs of an encoder of images or sounds: as many made up rows at every
//! stage, whatever the sizes of images and sounds, through the lists of few rows and of many.

use crate::Result;
use crate::cpu::SampledModel;
use crate::forward::{Forward, Traced};
use crate::model::EncoderInput;
use crate::model::program::Program;
use crate::runtime::gpu::embedder::GpuEmbedder;
use crate::runtime::gpu::model::GpuModel;
use crate::runtime::gpu::plans::BatchPlan;
use crate::runtime::passes::batch::begin_image;
use crate::runtime::plan::Plan;

/// Maximum number of tokens of the prompt: more than the rows of a subgroup matrix, fewer than those of a tile.
pub(super) const TOKENS: usize = 20;

/// The lists of an encoder that are checked.
pub(super) fn lists_of_encoder(model: &GpuModel, plan: &BatchPlan) -> Vec<Vec<Traced>> {
    let forward = forward(model, plan);
    let mut most: Vec<usize> = plan.lists.iter().map(|lists| lists.most).collect();
    most.dedup();
    most.into_iter().map(|most| forward.traced_batch(most)).collect()
}

fn forward<'a>(model: &'a GpuModel, plan: &'a BatchPlan) -> Forward<'a> {
    Forward::new(&model.program, &model.caps, &model.weights, &plan.buffers)
}

/// Rows of the check, which every stage has room for.
fn rows(program: &Program, most: usize) -> usize {
    program.stage_rows.iter().copied().chain([most, TOKENS]).min().unwrap_or(1)
}

impl GpuEmbedder {
    /// Makes the lists anew, for other capabilities of the model.
    pub(super) fn record_anew(&mut self) -> Result<()> {
        let forward = forward(&self.model, &self.plan);
        let lists = self.plan.lists.iter().map(|lists| forward.batch_lists(lists.most)).collect();
        self.plan.lists = lists;
        self.record_lists()
    }
}

/// Begins a pass over made up rows. Returns how many.
pub(super) fn begin_encoder(encoder: &GpuEmbedder, model: &mut SampledModel) -> usize {
    let (program, plan) = (&encoder.model.program, &encoder.plan);
    // All lists have room for them.
    let most = plan.lists.iter().map(|lists| lists.most).min().unwrap_or(1);
    let rows = rows(program, most.min(plan.context));
    // Layers that are not checked write none of what others read of them.
    let mut writes = Plan::default();
    for x in program.lasting() {
        let place = plan.buffers.places.embed.of(x);
        writes.write(place.slice, vec![0; rows * place.stride * 4]);
    }
    let input = EncoderInput::sample(program, rows);
    begin_image(&mut writes, encoder.layout(), &input);
    encoder.execute(&writes);
    model.begin_input(input);
    rows
}
