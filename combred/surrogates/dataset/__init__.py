"""Dataset: the HDF5 file of labelled states; its schema, writer and reader.

`sampling` writes it; training and validation read it with `table.open_states`.
"""
