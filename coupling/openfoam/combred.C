#include <cmath>
#include <exception>

#include "combred.H"

template<class ChemistryModel>
Foam::combred<ChemistryModel>::combred(typename ChemistryModel::reactionThermo& thermo)
:
    ode<ChemistryModel>(thermo),
    coeffs_(this->subDict("combredCoeffs")),
    surrogate_
    (
        [this]()
        {
            try
            {
                return ::combred::Surrogate(file());
            }
            catch (const std::exception& error)
            {
                FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
                throw;
            }
        }()
    ),
    specie_(matched()),
    limit_(coeffs_.lookupOrDefault<scalar>("limit", 1)),
    log_(coeffs_.lookupOrDefault<Switch>("log", true))
{}


template<class ChemistryModel>
Foam::fileName Foam::combred<ChemistryModel>::file() const
{
    const fileName name(coeffs_.get<fileName>("surrogate").expand());

    return name.isAbsolute() ? name : this->mesh().time().globalPath()/name;
}


template<class ChemistryModel>
Foam::labelList Foam::combred<ChemistryModel>::matched() const
{
    const auto& names = surrogate_.species();
    labelList specie(label(names.size()), -1);

    forAll(specie, k)
    {
        forAll(this->Y_, i)
        {
            if (this->Y_[i].member() == names[k])
            {
                specie[k] = i;
            }
        }
    }

    if (specie.found(-1) || specie.size() != this->Y_.size())
    {
        wordList ours(this->Y_.size()), theirs(specie.size());
        forAll(ours, i) { ours[i] = this->Y_[i].member(); }
        forAll(theirs, k) { theirs[k] = word(names[k], false); }

        FatalIOErrorInFunction(coeffs_)
            << "The surrogate has the species" << nl << flatOutput(theirs) << nl
            << "and the mixture" << nl << flatOutput(ours) << nl
            << "Use the mechanism of the surrogate, or train a surrogate for yours."
            << exit(FatalIOError);
    }

    return specie;
}


template<class ChemistryModel>
Foam::label Foam::combred<ChemistryModel>::steps(const scalar deltaT) const
{
    const label n = max(label(std::lround(deltaT/surrogate_.dt())), label(1));

    if (mag(deltaT - n*surrogate_.dt()) > 1e-6*deltaT)
    {
        FatalIOErrorInFunction(coeffs_)
            << "The time step, " << deltaT << " s, is not a multiple of the surrogate's, "
            << surrogate_.dt() << " s. Set deltaT " << n*surrogate_.dt()
            << " and adjustTimeStep no in controlDict, or train a surrogate with another dt."
            << exit(FatalIOError);
    }

    return n;
}


template<class ChemistryModel>
Foam::scalar Foam::combred<ChemistryModel>::advance(const scalar deltaT)
{
    BasicChemistryModel<typename ChemistryModel::reactionThermo>::correct();

    if (!this->chemistry_)
    {
        return GREAT;
    }

    const label nSteps = steps(deltaT);
    const tmp<volScalarField> trho(this->thermo().rho());
    const scalarField& rho = trho();
    const scalarField& T = this->thermo().T();
    const scalarField& p = this->thermo().p();

    // States of the cells above the temperature Treact, row after row
    DynamicList<label> cells(rho.size());
    forAll(rho, celli)
    {
        if (T[celli] > this->Treact_)
        {
            cells.append(celli);
        }
    }
    const std::size_t n = cells.size(), width = surrogate_.columns();
    std::vector<double> states(n*width), closureError(n), largest(n, 0);
    for (std::size_t row = 0; row < n; ++row)
    {
        double* state = &states[row*width];
        state[0] = T[cells[row]];
        state[1] = p[cells[row]];
        forAll(specie_, k)
        {
            state[2 + k] = this->Y_[specie_[k]][cells[row]];
        }
    }

    for (label step = 0; step < nSteps; ++step)
    {
        surrogate_.advance(states.data(), n, closureError.data());
        for (std::size_t row = 0; row < n; ++row)
        {
            largest[row] = max(largest[row], closureError[row]);
        }
    }

    for (label i = 0; i < this->nSpecie_; ++i)
    {
        this->RR_[i] = dimensionedScalar(this->RR_[i].dimensions(), Zero);
    }
    scalar deltaTMin = GREAT;
    label integrated = 0;
    for (std::size_t row = 0; row < n; ++row)
    {
        const label celli = cells[row];
        if (largest[row] <= limit_)
        {
            forAll(specie_, k)
            {
                const label i = specie_[k];
                this->RR_[i][celli] =
                    rho[celli]*(states[row*width + 2 + k] - this->Y_[i][celli])/deltaT;
            }
        }
        else
        {
            deltaTMin = min(deltaTMin, integrate(celli, rho[celli], deltaT));
            ++integrated;
        }
    }

    if (log_)
    {
        Info<< "combred: " << returnReduce(label(n), sumOp<label>()) << " cells, "
            << returnReduce(integrated, sumOp<label>()) << " of them integrated" << endl;
    }

    return deltaTMin;
}


template<class ChemistryModel>
Foam::scalar Foam::combred<ChemistryModel>::integrate
(
    const label celli,
    const scalar rho,
    const scalar deltaT
)
{
    scalarField c(this->nSpecie_), c0(this->nSpecie_);
    forAll(c, i)
    {
        c0[i] = rho*this->Y_[i][celli]/this->specieThermo_[i].W();
    }
    c = c0;
    scalar T = this->thermo().T()[celli], p = this->thermo().p()[celli];
    scalar& deltaTChem = this->deltaTChem_[celli];

    for (scalar left = deltaT; left > SMALL;)
    {
        scalar done = left;
        this->solve(c, T, p, done, deltaTChem);
        left -= done;
    }

    const scalar suggested = deltaTChem;
    deltaTChem = min(deltaTChem, this->deltaTChemMax_);
    forAll(c, i)
    {
        this->RR_[i][celli] = (c[i] - c0[i])*this->specieThermo_[i].W()/deltaT;
    }

    return suggested;
}


template<class ChemistryModel>
Foam::scalar Foam::combred<ChemistryModel>::solve(const scalar deltaT)
{
    return min(advance(deltaT), 2*deltaT);
}


template<class ChemistryModel>
Foam::scalar Foam::combred<ChemistryModel>::solve(const scalarField& deltaT)
{
    const scalar largest = gMax(deltaT);

    if (gMin(deltaT) < (1 - 1e-6)*largest)
    {
        FatalIOErrorInFunction(coeffs_)
            << "A surrogate has one time step, but the time steps of the cells are "
            << gMin(deltaT) << " to " << largest << " s: use solver ode for local time stepping."
            << exit(FatalIOError);
    }

    return advance(largest);
}
