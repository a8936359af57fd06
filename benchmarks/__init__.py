"""Benchmarks of ascjax; `README.md` names each script and how to run it."""
