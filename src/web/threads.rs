//! Both sides of the threads of the CPU path: those that the page starts, and what one of them runs.

use std::rc::Rc;

use js_sys::{Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::errors::to_js;
use crate::cpu::{Shape, Team, Thread, Threads};
use crate::gguf::GgmlType;
use crate::{Error, ErrorCode, Result};

#[wasm_bindgen]
extern "C" {
    /// `Threads` of `engine/threads.ts`.
    #[derive(Debug, Clone)]
    type CpuThreads;

    #[wasm_bindgen(method)]
    fn count(this: &CpuThreads) -> usize;

    #[wasm_bindgen(method)]
    fn room(this: &CpuThreads) -> usize;

    #[wasm_bindgen(method)]
    fn put(this: &CpuThreads, thread: usize, shape: &[u32], bytes: &[u8]);

    #[wasm_bindgen(method)]
    fn ready(this: &CpuThreads) -> Promise;

    #[wasm_bindgen(method)]
    fn begin(this: &CpuThreads, number: u32, group: usize, x: &[f32]);

    #[wasm_bindgen(method)]
    fn state(this: &CpuThreads) -> u32;

    #[wasm_bindgen(method)]
    fn take(this: &CpuThreads, own: usize, rows: usize, out: &mut [f32]);

    #[wasm_bindgen(method)]
    fn free(this: &CpuThreads);
}

/// [`CpuThreads::state`] of threads that are all done, and of those of which one has failed.
const DONE: u32 = 1;
const FAILED: u32 = 2;

/// The threads that the page has started, until they are dropped.
#[derive(Debug)]
struct Started(CpuThreads);

impl Drop for Started {
    fn drop(&mut self) {
        self.0.free();
    }
}

impl Threads for Started {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn room(&self) -> usize {
        self.0.room()
    }

    fn put(&self, thread: usize, shape: Shape, bytes: &[u8]) {
        let Shape { ty, groups, rows, group_rows, first, cols, rounds } = shape;
        let sizes = [groups, rows, group_rows, first, cols].map(|size| size as u32);
        let words: Vec<u32> = [ty.id()].into_iter().chain(sizes).chain([u32::from(rounds)]).collect();
        self.0.put(thread, &words, bytes);
    }

    fn begin(&self, number: u32, group: usize, x: &[f32]) {
        self.0.begin(number, group, x);
    }

    fn is_done(&self) -> Result<bool> {
        match self.0.state() {
            FAILED => Err(Error::new(ErrorCode::Internal, "a thread of the model has ended")),
            state => Ok(state == DONE),
        }
    }

    fn take(&self, own: usize, rows: usize, out: &mut [f32]) {
        self.0.take(own, rows, out);
    }
}

/// Threads that are given the rows of a model.
pub struct Opened {
    threads: CpuThreads,
    team: Rc<Team>,
}

impl Opened {
    pub fn team(&self) -> Rc<Team> {
        self.team.clone()
    }

    /// Waits until the threads have all that they were given.
    pub async fn ready(&self) -> std::result::Result<(), JsValue> {
        JsFuture::from(self.threads.ready()).await.map(drop)
    }
}

/// Starts threads by `start`, a function that resolves to `Threads` of `engine/threads.ts`, or to `undefined` where
/// there can be none.
pub async fn open(start: &Function) -> std::result::Result<Option<Opened>, JsValue> {
    let started = JsFuture::from(Promise::resolve(&start.call0(&JsValue::NULL)?)).await?;
    if started.is_undefined() {
        return Ok(None);
    }
    let threads: CpuThreads = started.unchecked_into();
    Ok(Some(Opened { team: Team::new(Box::new(Started(threads.clone()))), threads }))
}

/// What a thread has of a model, for `engine/thread-side.ts`.
#[wasm_bindgen]
#[derive(Default)]
pub struct CpuThread(Thread);

#[wasm_bindgen]
impl CpuThread {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps rows of the next matrix; `shape` is as [`Threads::put`] writes it.
    pub fn put(&mut self, shape: &[u32], bytes: Vec<u8>) -> std::result::Result<(), JsValue> {
        let &[ty, groups, rows, group_rows, first, cols, rounds] = shape else {
            return Err(to_js(Error::invalid_argument(format!("a shape of {} numbers", shape.len()))));
        };
        let ty = GgmlType::from_id(ty).ok_or_else(|| to_js(Error::invalid_argument(format!("no type {ty}"))))?;
        let [groups, rows, group_rows, first, cols] = [groups, rows, group_rows, first, cols].map(|size| size as usize);
        let shape = Shape { ty, groups, rows, group_rows, first, cols, rounds: rounds != 0 };
        self.0.put(shape, bytes).map_err(to_js)
    }

    /// `[tokens, rows]`: this thread's rows of a group of a matrix, times x, `[tokens, cols]`.
    pub fn multiply(&self, number: u32, group: usize, x: &[f32]) -> std::result::Result<Vec<f32>, JsValue> {
        self.0.multiply(number, group, x).map_err(to_js)
    }
}
