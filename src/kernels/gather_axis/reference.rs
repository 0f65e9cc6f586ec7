//! Elements of one axis by number, and their sums back into it.

/// Elements of the axes before an axis, of it, and after it.
fn split(shape: &[u32], axis: usize) -> [usize; 3] {
    let len = |sizes: &[u32]| sizes.iter().map(|&size| size as usize).product();
    [len(&shape[..axis]), shape[axis] as usize, len(&shape[axis + 1..])]
}

/// `y[o, j, i] = x[o, indices[j], i]`, or `missing` for an index that is not in the axis.
pub fn gather_axis<T: Copy>(x: &[T], shape: &[u32], axis: usize, indices: &[u32], missing: T) -> Vec<T> {
    let [outer, size, inner] = split(shape, axis);
    let mut y = Vec::with_capacity(outer * indices.len() * inner);
    for o in 0..outer {
        for &index in indices {
            let index = index as usize;
            match index < size {
                true => y.extend_from_slice(&x[(o * size + index) * inner..][..inner]),
                false => y.extend(std::iter::repeat_n(missing, inner)),
            }
        }
    }
    y
}

/// `base` with `y[o, indices[j], i] += values[o, j, i]`, in f64; indices that are not in the axis are skipped.
pub fn scatter_add(base: &[f32], shape: &[u32], axis: usize, indices: &[u32], values: &[f32]) -> Vec<f64> {
    let [outer, size, inner] = split(shape, axis);
    let mut y: Vec<f64> = base.iter().map(|&value| f64::from(value)).collect();
    for o in 0..outer {
        let inside = indices.iter().enumerate().filter(|(_, index)| (**index as usize) < size);
        for (j, &index) in inside {
            let to = &mut y[(o * size + index as usize) * inner..][..inner];
            let row = &values[(o * indices.len() + j) * inner..][..inner];
            to.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_and_added() {
        let x = [0, 1, 2, 3, 4, 5];
        assert_eq!(gather_axis(&x, &[2, 3], 1, &[2, 0, 3], 9), [2, 0, 9, 5, 3, 9]);
        assert_eq!(gather_axis(&x, &[2, 3], 0, &[1], 9), [3, 4, 5]);
        let sums = scatter_add(&[1.0, 2.0, 3.0], &[3], 0, &[2, 0, 2, 7], &[10.0, 20.0, 30.0, 40.0]);
        assert_eq!(sums, [21.0, 2.0, 43.0]);
    }
}
