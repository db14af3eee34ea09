"""Texts that stand for a missing value."""

# As R, pandas, databases and spreadsheets write it.
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "<NA>", "?", ".")
