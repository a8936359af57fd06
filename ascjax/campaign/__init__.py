"""A run of `ascjax verify` over many cases: as a stream, with state, in processes."""
