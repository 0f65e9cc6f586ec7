//! How values lie in words of 32 bits: registers, memory of workgroups and buffers have the same layout.

use naga::proc::IndexableLength;
use naga::{ArraySize, Handle, Module, Scalar, ScalarKind, Type, TypeInner, VectorSize};

/// What this interpreter cannot run, such as f16.
pub type Unsupported = String;

/// Words of a value, and the multiple that it starts at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub words: u32,
    pub align: u32,
}

fn scalar(scalar: Scalar) -> Result<Shape, Unsupported> {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) | (_, 4) => Ok(Shape { words: 1, align: 1 }),
        (kind, width) => Err(format!("{kind:?} of {width} bytes")),
    }
}

fn vector(size: VectorSize) -> Shape {
    let words = size as u32;
    Shape { words, align: words.next_power_of_two() }
}

/// The shape of a type; arrays without a size have no words.
pub fn shape(module: &Module, inner: &TypeInner) -> Result<Shape, Unsupported> {
    match inner {
        TypeInner::Scalar(of) | TypeInner::Atomic(of) => scalar(*of),
        TypeInner::Vector { size, scalar: of } => scalar(*of).map(|_| vector(*size)),
        TypeInner::Matrix { columns, rows, scalar: of } => {
            let column = scalar(*of).map(|_| vector(*rows))?;
            Ok(Shape { words: *columns as u32 * column.align, align: column.align })
        }
        TypeInner::Array { base, size, .. } => {
            let align = shape(module, &module.types[*base].inner)?.align;
            Ok(Shape { words: stride(module, *base)? * length(module, size)?.unwrap_or(0), align })
        }
        TypeInner::Struct { .. } => {
            let (_, shape) = members(module, inner)?;
            Ok(shape)
        }
        TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => Ok(Shape { words: 1, align: 1 }),
        other => Err(format!("the type {other:?}")),
    }
}

/// Words from one element of an array to the next.
pub fn stride(module: &Module, base: Handle<Type>) -> Result<u32, Unsupported> {
    let Shape { words, align } = shape(module, &module.types[base].inner)?;
    Ok(words.next_multiple_of(align))
}

/// Elements of an array; `None` where the buffer says how many.
pub fn length(module: &Module, size: &ArraySize) -> Result<Option<u32>, Unsupported> {
    match size.resolve(module.to_ctx()).map_err(|error| error.to_string())? {
        IndexableLength::Known(count) => Ok(Some(count)),
        IndexableLength::Dynamic => Ok(None),
    }
}

/// First words of the members of a structure, and its own shape. A bool takes a word, as in no buffer there is one.
pub fn members(module: &Module, inner: &TypeInner) -> Result<(Vec<u32>, Shape), Unsupported> {
    let TypeInner::Struct { members, span } = inner else { return Err("members of what has none".into()) };
    let (mut offsets, mut end, mut most) = (Vec::new(), 0u32, 1);
    for member in members {
        let Shape { words, align } = shape(module, &module.types[member.ty].inner)?;
        let aligned = end.next_multiple_of(align);
        // Structures of buffers may have gaps; naga knows the offsets.
        let at = if member.offset.is_multiple_of(4) { aligned.max(member.offset / 4) } else { aligned };
        offsets.push(at);
        (end, most) = (at + words, most.max(align));
    }
    let words = end.next_multiple_of(most).max(span / 4);
    Ok((offsets, Shape { words, align: most }))
}

/// First word and element type of component `index` of a value or of what a pointer points at.
pub fn component(module: &Module, inner: &TypeInner, index: u32) -> Result<u32, Unsupported> {
    match inner {
        TypeInner::Vector { .. } => Ok(index),
        TypeInner::Matrix { rows, .. } => Ok(index * vector(*rows).align),
        TypeInner::Array { base, .. } => Ok(index * stride(module, *base)?),
        TypeInner::Struct { .. } => Ok(members(module, inner)?.0[index as usize]),
        other => Err(format!("a component of {other:?}")),
    }
}

/// Words from one component to the next, and how many there are, where they are all alike.
pub fn elements(module: &Module, inner: &TypeInner) -> Result<(u32, Option<u32>), Unsupported> {
    match inner {
        TypeInner::Vector { size, .. } => Ok((1, Some(*size as u32))),
        TypeInner::Matrix { columns, rows, .. } => Ok((vector(*rows).align, Some(*columns as u32))),
        TypeInner::Array { base, size, .. } => Ok((stride(module, *base)?, length(module, size)?)),
        other => Err(format!("an index into {other:?}")),
    }
}

/// The parts of a value that are numbers and no padding: first word and words of each.
pub fn runs(module: &Module, inner: &TypeInner) -> Result<Vec<[u32; 2]>, Unsupported> {
    let mut all = Vec::new();
    gather(module, inner, 0, &mut all)?;
    Ok(all)
}

fn gather(module: &Module, inner: &TypeInner, at: u32, all: &mut Vec<[u32; 2]>) -> Result<(), Unsupported> {
    match inner {
        TypeInner::Struct { members: fields, .. } => {
            let (offsets, _) = members(module, inner)?;
            for (field, offset) in fields.iter().zip(offsets) {
                gather(module, &module.types[field.ty].inner, at + offset, all)?;
            }
        }
        TypeInner::Array { base, size, .. } => {
            let stride = stride(module, *base)?;
            for i in 0..length(module, size)?.unwrap_or(0) {
                gather(module, &module.types[*base].inner, at + i * stride, all)?;
            }
        }
        TypeInner::Matrix { columns, rows, .. } => {
            let column = vector(*rows);
            (0..*columns as u32).for_each(|i| push(all, at + i * column.align, column.words));
        }
        _ => push(all, at, shape(module, inner)?.words),
    }
    Ok(())
}

fn push(all: &mut Vec<[u32; 2]>, at: u32, words: u32) {
    match all.last_mut() {
        Some([start, before]) if *start + *before == at => *before += words,
        _ => all.push([at, words]),
    }
}
