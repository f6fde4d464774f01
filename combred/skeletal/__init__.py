"""Skeletal mechanisms: species and reactions that a user's cases do not need are taken out.

Takes a `Mechanism`; gives a smaller one with its errors. `skeleton` is what is left, `delays`,
`extinction` and `flames` judge it on `cases`, `search` removes, `writing` makes the file, and
`reducing` does all of it.
"""
