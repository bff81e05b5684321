LEFT_OUT = ("raw-unlawful", "raw-checksum", "raw-differs")
