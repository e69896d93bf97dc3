"""One file per verb: start reading here."""
