//! Combines the splits of a decode step.

/// Combines unnormalised sums `partial` `[heads, splits, head_dim]`, each relative to the maximum in its `stats`
/// `[heads, splits]` (maximum, sum of exp), to `[heads, head_dim]`, in f64.
pub fn attention_merge(partial: &[f32], stats: &[[f32; 2]], splits: usize, head_dim: usize) -> Vec<f32> {
    let heads = partial.chunks_exact(splits * head_dim).zip(stats.chunks_exact(splits));
    let head = |(partial, stats): (&[f32], &[[f32; 2]])| -> Vec<f32> {
        let high = stats.iter().fold(f64::MIN, |high, stat| high.max(stat[0].into()));
        let share = |stat: &[f32; 2]| (f64::from(stat[0]) - high).exp();
        let total: f64 = stats.iter().map(|stat| share(stat) * f64::from(stat[1])).sum();
        let sum = |i: usize| -> f64 {
            stats.iter().zip(partial.chunks_exact(head_dim)).map(|(stat, row)| share(stat) * f64::from(row[i])).sum()
        };
        (0..head_dim).map(|i| (sum(i) / total) as f32).collect()
    };
    heads.flat_map(head).collect()
}
