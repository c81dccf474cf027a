"""Downstream translation with fairseq 0.12.2: what a selection is worth (kim2019 section 4.2, table 2)."""
