#include <exception>
#include <numeric>

#include "UniformField.H"
#include "combred.H"

template<class ChemistryModel>
Foam::combred<ChemistryModel>::combred(typename ChemistryModel::reactionThermo& thermo)
:
    ode<ChemistryModel>(thermo),
    coeffs_(this->subDict("combredCoeffs")),
    surrogate_(load()),
    specie_(matched()),
    limit_(coeffs_.lookupOrDefault<scalar>("limit", 1)),
    log_(coeffs_.lookupOrDefault<Switch>("log", true))
{}


template<class ChemistryModel>
::combred::Surrogate Foam::combred<ChemistryModel>::load() const
{
    const fileName name(coeffs_.get<fileName>("surrogate").expand());

    try
    {
        ::combred::Surrogate surrogate
        (
            name.isAbsolute() ? name : this->mesh().time().globalPath()/name
        );

        if (coeffs_.found("tolerance"))
        {
            surrogate.set_tolerance(coeffs_.get<scalar>("tolerance"));
        }

        return surrogate;
    }
    catch (const std::exception& error)
    {
        FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
        throw;
    }
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
::combred::Steps Foam::combred<ChemistryModel>::advance
(
    std::vector<double>& states,
    const std::vector<double>& dt
) const
{
    try
    {
        return surrogate_.advance(states.data(), dt.size(), dt.data());
    }
    catch (const std::exception& error)
    {
        FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
        throw;
    }
}


template<class ChemistryModel>
template<class DeltaT>
Foam::scalar Foam::combred<ChemistryModel>::advance(const DeltaT& deltaT)
{
    BasicChemistryModel<typename ChemistryModel::reactionThermo>::correct();

    if (!this->chemistry_)
    {
        return GREAT;
    }

    const tmp<volScalarField> trho(this->thermo().rho());
    const scalarField& rho = trho();
    const scalarField& T = this->thermo().T();
    const scalarField& p = this->thermo().p();

    // States of the cells above the temperature Treact, row after row. A state has sum Y = 1 and
    // Y >= 0, from which transport departs slightly; `total` restores the cell's mass.
    DynamicList<label> cells(rho.size());
    forAll(rho, celli)
    {
        if (T[celli] > this->Treact_)
        {
            cells.append(celli);
        }
    }
    const std::size_t n = cells.size(), width = surrogate_.columns();
    std::vector<double> states(n*width), dt(n), total(n, 0);
    for (std::size_t row = 0; row < n; ++row)
    {
        const label celli = cells[row];
        double* state = &states[row*width];
        state[0] = T[celli];
        state[1] = p[celli];
        forAll(specie_, k)
        {
            state[2 + k] = this->Y_[specie_[k]][celli];
            total[row] += max(state[2 + k], 0.0);
        }
        dt[row] = deltaT[celli];
    }

    const ::combred::Steps steps = advance(states, dt);

    for (label i = 0; i < this->nSpecie_; ++i)
    {
        this->RR_[i] = dimensionedScalar(this->RR_[i].dimensions(), Zero);
    }
    scalar deltaTMin = GREAT;
    label integrated = 0;
    for (std::size_t row = 0; row < n; ++row)
    {
        const label celli = cells[row];
        if (steps.error[row] <= limit_)
        {
            const double* Y = &states[row*width + 2];
            const scalar rate = rho[celli]/dt[row];
            forAll(specie_, k)
            {
                const label i = specie_[k];
                const scalar before = max(this->Y_[i][celli], scalar(0));
                this->RR_[i][celli] = rate*(total[row]*Y[k] - before);
            }
        }
        else
        {
            deltaTMin = min(deltaTMin, integrate(celli, rho[celli], dt[row]));
            ++integrated;
        }
    }

    if (log_)
    {
        const scalar nCells = returnReduce(scalar(n), sumOp<scalar>());
        const scalar nSteps = returnReduce
        (
            std::accumulate(steps.count.begin(), steps.count.end(), scalar(0)),
            sumOp<scalar>()
        );
        Info<< "combred: " << label(nCells) << " cells, "
            << returnReduce(integrated, sumOp<label>()) << " of them integrated, "
            << nSteps/max(nCells, scalar(1)) << " steps per cell" << endl;
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
    return min(advance(UniformField<scalar>(deltaT)), 2*deltaT);
}


template<class ChemistryModel>
Foam::scalar Foam::combred<ChemistryModel>::solve(const scalarField& deltaT)
{
    return advance(deltaT);
}
