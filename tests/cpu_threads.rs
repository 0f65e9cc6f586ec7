//! Threads that share the products of a model on the CPU: the logits are those of one thread.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cpu.rs"]
mod cpu;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use webgguf::cpu::{CacheFormat, CpuModel, Logits, Shape, Team, Thread, Threads};
use webgguf::{Error, ErrorCode, Result};

/// What the threads have done.
#[derive(Debug, Default)]
struct Seen {
    matrices: Cell<usize>,
    products: Cell<usize>,
    /// Weights that other threads have.
    bytes: Cell<usize>,
}

/// Threads that are none: they multiply when they are asked whether they are done.
#[derive(Debug)]
struct InTurn {
    threads: Vec<RefCell<(Thread, Vec<Shape>)>>,
    room: usize,
    wanted: RefCell<Option<(u32, usize, Vec<f32>)>>,
    found: RefCell<Vec<Vec<f32>>>,
    seen: Rc<Seen>,
    fails_after: Option<usize>,
}

impl InTurn {
    fn new(count: usize, room: usize, seen: &Rc<Seen>) -> Self {
        Self {
            threads: (0..count).map(|_| RefCell::default()).collect(),
            room,
            wanted: RefCell::default(),
            found: RefCell::default(),
            seen: seen.clone(),
            fails_after: None,
        }
    }
}

impl Threads for InTurn {
    fn count(&self) -> usize {
        self.threads.len()
    }

    fn room(&self) -> usize {
        self.room
    }

    fn put(&self, thread: usize, shape: Shape, bytes: &[u8]) {
        let (of, shapes) = &mut *self.threads[thread - 1].borrow_mut();
        of.put(shape, bytes.to_vec()).expect("rows that fit");
        shapes.push(shape);
        self.seen.matrices.set(shapes.len());
        self.seen.bytes.set(self.seen.bytes.get() + bytes.len());
    }

    fn begin(&self, number: u32, group: usize, x: &[f32]) {
        let before = self.wanted.replace(Some((number, group, x.to_vec())));
        assert!(before.is_none(), "the last product is not done");
        self.seen.products.set(self.seen.products.get() + 1);
    }

    fn is_done(&self) -> Result<bool> {
        if self.fails_after.is_some_and(|products| self.seen.products.get() > products) {
            return Err(Error::new(ErrorCode::Internal, "a thread has ended"));
        }
        if let Some((number, group, x)) = self.wanted.take() {
            let found = self.threads.iter().map(|thread| thread.borrow().0.multiply(number, group, &x));
            *self.found.borrow_mut() = found.collect::<Result<_>>()?;
            for (thread, found) in self.threads.iter().zip(&*self.found.borrow()) {
                let Shape { rows, cols, .. } = thread.borrow().1[number as usize];
                assert_eq!(found.len() * cols, x.len() * rows);
            }
            return Ok(false);
        }
        Ok(true)
    }

    fn take(&self, own: usize, rows: usize, out: &mut [f32]) {
        let found = self.found.borrow();
        let tokens = out.len() / rows;
        for (token, out) in out.chunks_exact_mut(rows).enumerate() {
            let of_token =
                found.iter().flat_map(|found| &found[token * found.len() / tokens..][..found.len() / tokens]);
            out[own..].iter_mut().zip(of_token).for_each(|(out, found)| *out = *found);
        }
    }
}

fn load(file: &str, team: Option<Rc<Team>>) -> CpuModel {
    let path = cpu::fixtures().join(format!("{file}.gguf"));
    cpu::load_by(&[path], CacheFormat::F32, |builder| match team {
        Some(team) => builder.rounding().with_threads(team),
        None => builder.rounding(),
    })
}

/// Logits after each of some tokens, and after three more one by one.
fn logits(model: &mut CpuModel) -> Vec<f32> {
    let ids: Vec<u32> = (0..40).map(|id| id * 7 % 90 + 3).collect();
    let mut found = model.forward(&ids, 0, Logits::All).expect("good ids");
    for (id, position) in [11, 5, 60].into_iter().zip(ids.len()..) {
        found.extend(model.forward(&[id], position, Logits::Last).expect("a good id"));
    }
    found
}

#[test]
fn logits_are_those_of_one_thread() {
    // A head of its own and one that is the embedding; experts; heads with matrices of their own; recurrent states.
    for file in ["llama-q4_0", "gemma3-q5_1", "gpt-oss-mxfp4", "deepseek2-f16", "granitehybrid-moe-q8_0"] {
        let expected = logits(&mut load(file, None));
        for (others, room) in [(1, 1 << 20), (2, 2000), (4, 1 << 20)] {
            let seen = Rc::default();
            let team = Team::sharing_from(Box::new(InTurn::new(others, room, &seen)), 1);
            let mut model = load(file, Some(team));
            assert!(logits(&mut model) == expected, "{file}, {others} others with room for {room}");
            assert!(seen.matrices.get() > 2 && seen.products.get() > 40, "{file}: {seen:?}");
        }
    }
}

#[test]
fn small_matrices_stay_with_the_first_thread() {
    let seen = Rc::default();
    let team = Team::new(Box::new(InTurn::new(3, 1 << 20, &seen)));
    let found = logits(&mut load("deepseek2-f16", Some(team)));
    assert_eq!((seen.matrices.get(), seen.bytes.get()), (0, 0));
    assert!(found == logits(&mut cpu::load(&[cpu::fixtures().join("deepseek2-f16.gguf")], CacheFormat::F32)));
}

#[test]
fn a_thread_that_fails_fails_the_run() {
    let seen = Rc::default();
    let threads = InTurn { fails_after: Some(7), ..InTurn::new(2, 1 << 20, &seen) };
    let mut model = load("llama-q4_0", Some(Team::sharing_from(Box::new(threads), 1)));
    let error = model.forward(&[3, 4, 5], 0, Logits::Last).expect_err("a thread has ended");
    assert_eq!((error.code(), error.message()), (ErrorCode::Internal, "a thread has ended"));
}
