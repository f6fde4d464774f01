"""The states that networks are trained on, drawn and labelled in batches."""
