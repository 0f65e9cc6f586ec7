// By the distance of the key.
// mutant (attention_decode): query_head + n => query_head
bias_head = query_head + n;
sum += distance_bias(KV_HEADS * GROUP, min(f32(key) - behind, 0.0));
