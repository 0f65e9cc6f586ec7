// What a score gets by the distance of its key, beside ALiBi: nothing.
