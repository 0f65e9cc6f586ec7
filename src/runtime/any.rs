//! A session on either device.

use std::cell::Cell;

use super::cpu::CpuSession;
use super::gpu::lane::GpuLane;
use super::gpu::session::GpuSession;
use super::saved::head::Head;
use super::session::{AdapterUse, Listener, RunIds, Session, Token};
use crate::Result;
use crate::kernels::kv_type::KvType;
use crate::model::{Adapter, ModelConfig};
use crate::sampler::SamplingOptions;

/// A session on either device, which is chosen when the model is loaded.
pub enum AnySession {
    /// On WebGPU: a lane, alone or beside others of its session.
    Gpu(Box<GpuLane>),
    /// On the CPU.
    Cpu(Box<CpuSession>),
}

impl AnySession {
    /// The first lane of a session on the GPU.
    pub fn of_gpu(session: GpuSession) -> Self {
        Self::Gpu(GpuLane::first(session).into())
    }
}

/// Calls the same method of whichever session it is.
macro_rules! either {
    ($self:ident, $session:ident => $call:expr) => {
        match $self {
            Self::Gpu($session) => $call,
            Self::Cpu($session) => $call,
        }
    };
}

impl Session for AnySession {
    fn config(&self) -> &ModelConfig {
        either!(self, session => session.config())
    }

    fn context_length(&self) -> usize {
        either!(self, session => session.context_length())
    }

    fn kv_type(&self) -> KvType {
        either!(self, session => session.kv_type())
    }

    fn knows_row(&self, id: u32) -> bool {
        either!(self, session => session.knows_row(id))
    }

    fn set_listener(&mut self, listener: Option<Listener>) {
        either!(self, session => session.set_listener(listener));
    }

    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]) {
        either!(self, session => session.configure(options, ids, prompt));
    }

    async fn add_adapter(&mut self, id: u32, adapter: Adapter) -> Result<()> {
        either!(self, session => session.add_adapter(id, adapter).await)
    }

    fn remove_adapter(&mut self, id: u32) -> bool {
        either!(self, session => session.remove_adapter(id))
    }

    fn invocation(&self, id: u32) -> Option<Vec<u32>> {
        either!(self, session => session.invocation(id))
    }

    fn set_adapters(&mut self, adapters: &[AdapterUse]) {
        either!(self, session => session.set_adapters(adapters));
    }

    async fn read_source(&mut self, ids: &[u32], stop: &Cell<bool>) -> Result<bool> {
        either!(self, session => session.read_source(ids, stop).await)
    }

    fn rewind(&mut self, position: usize) -> usize {
        either!(self, session => session.rewind(position))
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        either!(self, session => session.feed(ids, position, stop).await)
    }

    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        either!(self, session => session.read(ids, position, stop).await)
    }

    fn resume(&mut self, answer: &[u32], recount: bool) {
        either!(self, session => session.resume(answer, recount));
    }

    fn allow(&mut self, mask: Option<&[u32]>) {
        either!(self, session => session.allow(mask));
    }

    fn draws_ahead(&self) -> bool {
        either!(self, session => session.draws_ahead())
    }

    fn drafts_ahead(&self) -> usize {
        either!(self, session => session.drafts_ahead())
    }

    fn rounds(&self) -> bool {
        either!(self, session => session.rounds())
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        either!(self, session => session.take_logits())
    }

    fn step(&mut self) -> Result<bool> {
        either!(self, session => session.step())
    }

    fn in_flight(&self) -> usize {
        either!(self, session => session.in_flight())
    }

    async fn next(&mut self) -> Result<Option<Token>> {
        either!(self, session => session.next().await)
    }

    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        either!(self, session => session.next_if_ready())
    }

    fn drafts(&self) -> [usize; 2] {
        either!(self, session => session.drafts())
    }

    fn rest(&mut self) -> usize {
        either!(self, session => session.rest())
    }

    async fn make_room(&mut self, tokens: usize) -> Result<()> {
        either!(self, session => Session::make_room(&mut **session, tokens).await)
    }

    async fn with_caches(&mut self, head: Head) -> Result<Head> {
        either!(self, session => session.with_caches(head).await)
    }

    async fn restore(&mut self, head: &Head) -> Result<bool> {
        either!(self, session => session.restore(head).await)
    }

    async fn read_part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        either!(self, session => session.read_part(tokens, number).await)
    }

    async fn write_part(&mut self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
        either!(self, session => session.write_part(tokens, number, file).await)
    }

    async fn evaluate(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize> {
        either!(self, session => session.evaluate(ids, position, stop, each).await)
    }
}
