// What an integration did, summed over states; `Counts` in library.py has the same fields.
#pragma once

struct Counts {
    long steps, rejected, rates, jacobians, factorisations, failed;
};
