"""A surrogate compiled as C++: what it adds to the library of its mechanism's solver."""
