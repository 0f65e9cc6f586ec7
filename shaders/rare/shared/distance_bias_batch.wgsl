// By the distance of the row.
// mutant (attention_batch): f32(row) - f32(first_query + thread_group + n) => f32(row) - f32(first_query + n)
value += distance_bias(params.heads, f32(row) - f32(first_query + thread_group + n));
