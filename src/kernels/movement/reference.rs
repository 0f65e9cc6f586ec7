//! Copies in another order: by coordinates, one element at a time.

use crate::kernels::reference::broadcast_index;

/// Coordinates of element `index` of a contiguous tensor.
fn coordinates(index: usize, shape: &[u32]) -> Vec<usize> {
    let mut rest = index;
    let mut at: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let coordinate = rest % size as usize;
            rest /= size as usize;
            coordinate
        })
        .collect();
    at.reverse();
    at
}

/// Element of a contiguous tensor at these coordinates.
fn index(coordinates: &[usize], shape: &[u32]) -> usize {
    coordinates.iter().zip(shape).fold(0, |at, (coordinate, &size)| at * size as usize + coordinate)
}

fn len(shape: &[u32]) -> usize {
    shape.iter().map(|&size| size as usize).product()
}

/// `y[c[axes[0]], c[axes[1]], …] = x[c]`.
pub fn transpose<T: Copy>(x: &[T], shape: &[u32], axes: &[usize]) -> Vec<T> {
    let to: Vec<u32> = axes.iter().map(|&axis| shape[axis]).collect();
    let mut y = vec![x[0]; x.len()];
    for (i, &value) in x.iter().enumerate() {
        let at = coordinates(i, shape);
        let moved: Vec<usize> = axes.iter().map(|&axis| at[axis]).collect();
        y[index(&moved, &to)] = value;
    }
    y
}

/// Elements `start` … `start + length - 1` of an axis.
pub fn narrow<T: Copy>(x: &[T], shape: &[u32], axis: usize, [start, length]: [usize; 2]) -> Vec<T> {
    let kept = |i: &usize| (start..start + length).contains(&coordinates(*i, shape)[axis]);
    (0..len(shape)).filter(kept).map(|i| x[i]).collect()
}

/// The tensors (values, shape) one after the other along an axis.
pub fn concat<T: Copy>(inputs: &[(&[T], &[u32])], axis: usize) -> Vec<T> {
    let rows = len(&inputs[0].1[..axis]);
    let row = |r: usize| {
        inputs.iter().flat_map(move |(values, shape)| {
            let columns = len(&shape[axis..]);
            values[r * columns..(r + 1) * columns].to_vec()
        })
    };
    (0..rows).flat_map(row).collect()
}

/// x broadcast to a shape.
pub fn expand<T: Copy>(x: &[T], own: &[u32], shape: &[u32]) -> Vec<T> {
    (0..len(shape)).map(|i| x[broadcast_index(i, shape, own)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_where_they_should_be() {
        let x = [0, 1, 2, 3, 4, 5];
        assert_eq!(transpose(&x, &[2, 3], &[1, 0]), [0, 3, 1, 4, 2, 5]);
        assert_eq!(narrow(&x, &[2, 3], 1, [1, 2]), [1, 2, 4, 5]);
        assert_eq!(concat(&[(&x, &[2, 3]), (&[8, 9], &[2, 1])], 1), [0, 1, 2, 8, 3, 4, 5, 9]);
        assert_eq!(expand(&[7, 8], &[2, 1], &[2, 3]), [7, 7, 7, 8, 8, 8]);
    }
}
