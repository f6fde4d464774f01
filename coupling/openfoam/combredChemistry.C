#include <algorithm>
#include <ctime>
#include <exception>

#include "UniformField.H"
#include "combredChemistry.H"

template<class ChemistryModel>
Foam::combredChemistry<ChemistryModel>::combredChemistry
(
    typename ChemistryModel::reactionThermo& thermo
)
:
    chemistrySolver<ChemistryModel>(thermo),
    coeffs_(checked()),
    surrogate_(load("surrogate", "surrogateTolerance")),
    solver_(load("solver", "tolerance")),
    limit_(limit()),
    log_(coeffs_.lookupOrDefault<Switch>("log", true))
{}


template<class ChemistryModel>
Foam::dictionary Foam::combredChemistry<ChemistryModel>::checked() const
{
    const dictionary coeffs(this->subDict("combredCoeffs"));
    const wordList known
    ({
        "solver", "surrogate", "tolerance", "surrogateTolerance", "limit", "log"
    });

    for (const word& entry : coeffs.toc())
    {
        if (!known.found(entry))
        {
            FatalIOErrorInFunction(coeffs)
                << "Unknown entry " << entry << ": the entries are "
                << flatOutput(known) << exit(FatalIOError);
        }
    }

    if (!coeffs.found("solver") && !coeffs.found("surrogate"))
    {
        FatalIOErrorInFunction(coeffs)
            << "No library: add" << nl
            << "    solver \"constant/libsolver.so\";" << nl
            << "or a surrogate, or both" << exit(FatalIOError);
    }

    return coeffs;
}


template<class ChemistryModel>
std::unique_ptr<typename Foam::combredChemistry<ChemistryModel>::member>
Foam::combredChemistry<ChemistryModel>::load
(
    const word& entry,
    const word& tolerance
) const
{
    if (!coeffs_.found(entry))
    {
        return nullptr;
    }

    const fileName name(coeffs_.get<fileName>(entry).expand());
    const fileName file
    (
        name.isAbsolute() ? name : this->mesh().time().globalPath()/name
    );

    try
    {
        combred::Library library(file);

        if (coeffs_.found(tolerance))
        {
            library.set_tolerance(coeffs_.get<scalar>(tolerance));
        }

        const labelList specie(matched(library));
        return std::unique_ptr<member>(new member{library, specie});
    }
    catch (const std::exception& error)
    {
        FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
        throw;
    }
}


template<class ChemistryModel>
Foam::labelList Foam::combredChemistry<ChemistryModel>::matched
(
    const combred::Library& library
) const
{
    wordList ours(this->nSpecie_), theirs(label(library.species().size()));
    forAll(ours, i) { ours[i] = this->Y_[i].member(); }
    forAll(theirs, k) { theirs[k] = word(library.species()[k], false); }

    labelList specie(theirs.size());
    forAll(theirs, k) { specie[k] = ours.find(theirs[k]); }

    if (specie.found(-1) || theirs.size() != ours.size())
    {
        FatalIOErrorInFunction(coeffs_)
            << "The library has the species" << nl << flatOutput(theirs) << nl
            << "and the mixture" << nl << flatOutput(ours) << nl
            << "Use one mechanism for both: coupling/openfoam/mechanism.py"
            << " writes it for OpenFOAM, combred.native.export the library."
            << exit(FatalIOError);
    }

    return specie;
}


template<class ChemistryModel>
Foam::scalar Foam::combredChemistry<ChemistryModel>::limit() const
{
    const scalar limit = coeffs_.lookupOrDefault<scalar>("limit", 1);

    if (!(limit > 0))
    {
        FatalIOErrorInFunction(coeffs_)
            << "limit " << limit << ": the limit of the error ratio has to be"
            << " positive; without surrogate the solver advances all cells"
            << exit(FatalIOError);
    }

    return limit;
}


template<class ChemistryModel>
Foam::labelList Foam::combredChemistry<ChemistryModel>::active() const
{
    const scalarField& T = this->thermo().T();
    DynamicList<label> cells(T.size());

    forAll(T, celli)
    {
        if (!(T[celli] <= this->Treact_))  // a NaN has to be refused, not left out
        {
            cells.append(celli);
        }
    }

    return labelList(std::move(cells));
}


template<class ChemistryModel>
template<class DeltaT>
void Foam::combredChemistry<ChemistryModel>::setRates(const DeltaT& deltaT)
{
    BasicChemistryModel<typename ChemistryModel::reactionThermo>::correct();

    if (!this->chemistry_)
    {
        return;
    }

    const std::clock_t begun = std::clock();  // CPU time, to 1 us
    const tmp<volScalarField> trho(this->thermo().rho());
    const labelList cells(active());
    tally network, solver;

    forAll(this->RR_, i)
    {
        this->RR_[i].field() = 0;
    }

    for (label start = 0; start < cells.size(); start += block)
    {
        labelList left
        (
            SubList<label>(cells, min(block, cells.size() - start), start)
        );

        if (surrogate_)
        {
            left = advance(*surrogate_, left, deltaT, trho(), limit_, network);
        }
        if (solver_)
        {
            left = advance(*solver_, left, deltaT, trho(), 1, solver);
        }
        if (left.size())
        {
            refuse(left[0], deltaT[left[0]]);
        }
    }

    if (log_)
    {
        report(network, solver, scalar(std::clock() - begun)/CLOCKS_PER_SEC);
    }
}


template<class ChemistryModel>
template<class DeltaT>
Foam::labelList Foam::combredChemistry<ChemistryModel>::advance
(
    member& by,
    const labelUList& cells,
    const DeltaT& deltaT,
    const scalarField& rho,
    const scalar limit,
    tally& sum
)
{
    gather(by, cells);
    dt_.resize(cells.size());
    forAll(cells, row)
    {
        dt_[row] = deltaT[cells[row]];
    }

    combred::Steps steps;
    try
    {
        steps = by.library.advance(states_.data(), dt_.size(), dt_.data());
    }
    catch (const std::exception& error)
    {
        FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
    }

    DynamicList<label> left;
    forAll(cells, row)
    {
        const label celli = cells[row];
        sum.steps += steps.count[row];
        sum.most = max(sum.most, scalar(steps.count[row]));

        if (steps.error[row] <= limit)
        {
            const double* state = &states_[row*by.library.columns()];
            setRate(by, celli, state, rho[celli]/dt_[row]);
        }
        else
        {
            left.append(celli);
        }
    }
    sum.cells += cells.size() - left.size();

    return labelList(std::move(left));
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::gather
(
    member& by,
    const labelUList& cells
)
{
    const scalarField& T = this->thermo().T();
    const scalarField& p = this->thermo().p();
    const std::size_t width = by.library.columns();
    states_.resize(cells.size()*width);

    forAll(cells, row)
    {
        double* state = &states_[row*width];
        state[0] = T[cells[row]];
        state[1] = p[cells[row]];
        forAll(by.specie, k)
        {
            state[2 + k] = this->Y_[by.specie[k]][cells[row]];
        }
    }
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::setRate
(
    member& by,
    const label celli,
    const double* state,
    const scalar rhoByDt
)
{
    scalar total = 0;  // the cell's mass, which the library has normalised
    forAll(by.specie, k)
    {
        total += max(this->Y_[k][celli], scalar(0));
    }
    forAll(by.specie, k)
    {
        const label i = by.specie[k];
        const scalar before = max(this->Y_[i][celli], scalar(0));
        this->RR_[i][celli] = rhoByDt*(total*state[2 + k] - before);
    }
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::refuse
(
    const label celli,
    const scalar dt
) const
{
    scalarField Y(this->nSpecie_);
    forAll(Y, i) { Y[i] = this->Y_[i][celli]; }
    labelList order(identity(Y.size()));
    std::sort
    (
        order.begin(),
        order.end(),
        [&](const label i, const label j) { return mag(Y[i]) > mag(Y[j]); }
    );

    FatalErrorInFunction
        << "Cell " << celli << " at " << this->mesh().C()[celli]
        << " m cannot be advanced over " << dt << " s: T = "
        << this->thermo().T()[celli] << " K, p = "
        << this->thermo().p()[celli] << " Pa, sum Y = " << sum(Y);
    for (label i = 0; i < min(label(6), Y.size()); ++i)
    {
        FatalError
            << ", " << this->Y_[order[i]].member() << " " << Y[order[i]];
    }
    FatalError << nl;

    if (solver_)
    {
        FatalError
            << "The solver takes T from 100 to 6000 K, p > 0, Y > -1e-6 and"
            << " sum Y from 0.999 to 1.001. A flow that leaves these ranges"
            << " diverges: take a smaller deltaT or maxCo.";
    }
    else
    {
        FatalError
            << "The surrogate does not reach its tolerance there. Write the"
            << " solver of its mechanism with combred.native.export, and add"
            << " to combredCoeffs" << nl
            << "    solver \"constant/libsolver.so\";";
    }
    FatalError << exit(FatalError);
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::report
(
    tally network,
    tally solver,
    scalar seconds
) const
{
    for (tally* one : {&network, &solver})
    {
        reduce(one->cells, sumOp<scalar>());
        reduce(one->steps, sumOp<scalar>());
        reduce(one->most, maxOp<scalar>());
    }
    reduce(seconds, maxOp<scalar>());
    const scalar cells = network.cells + solver.cells;

    Info<< "combred: " << label(cells) << " cells, " << label(network.cells)
        << " by the network, " << label(solver.cells) << " by the solver, "
        << (network.steps + solver.steps)/max(cells, scalar(1))
        << " steps a cell, at most " << label(max(network.most, solver.most))
        << ", " << seconds << " s of CPU time" << endl;
}


template<class ChemistryModel>
Foam::scalar Foam::combredChemistry<ChemistryModel>::solve(const scalar deltaT)
{
    setRates(UniformField<scalar>(deltaT));
    return 2*deltaT;
}


template<class ChemistryModel>
Foam::scalar Foam::combredChemistry<ChemistryModel>::solve
(
    const scalarField& deltaT
)
{
    setRates(deltaT);
    return GREAT;
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::solve
(
    scalarField&,
    scalar&,
    scalar&,
    scalar&,
    scalar&
) const
{
    NotImplemented;
}
