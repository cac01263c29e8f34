"""One file per figure: results in, Figure out."""
