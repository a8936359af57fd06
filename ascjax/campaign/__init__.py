"""A run of `ascjax verify` over many cases: as a stream, with state, in processes, and
what it comes to."""
