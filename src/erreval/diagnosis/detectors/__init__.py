"""One detector an error type: no training, milliseconds, each with evidence."""
