"""Skeletal mechanisms: species and reactions that a user's cases do not need are taken out.

Takes a `Mechanism`; gives a smaller one with its errors. `skeleton` is what is left, `delays`,
`extinction` and `flames` judge it on `cases`, with the results of the detailed mechanism, which
`references` keeps. `graph` takes the bulk out of a `large` mechanism, `search` removes, `writing`
makes the file, and `reducing` does all of it.
"""
