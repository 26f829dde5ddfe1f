"""What a score is worth: correlation with people. No I/O inside the statistics."""
