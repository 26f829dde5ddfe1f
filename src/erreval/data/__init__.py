"""Sources, benchmark readers, tables, quality gates and splits."""
