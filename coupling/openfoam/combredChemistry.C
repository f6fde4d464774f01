#include <algorithm>
#include <ctime>
#include <exception>

#include "UniformField.H"
#include "zeroGradientFvPatchFields.H"
#include "combredChemistry.H"

template<class ChemistryModel>
Foam::combredChemistry<ChemistryModel>::combredChemistry
(
    typename ChemistryModel::reactionThermo& thermo
)
:
    chemistrySolver<ChemistryModel>(thermo),
    coeffs_(checked()),
    log_(coeffs_.lookupOrDefault<Switch>("log", true)),
    library_(loaded()),
    specie_(matched()),
    R_(specie_.size())
{
    forAll(specie_, k)
    {
        R_[k] = this->specieThermo_[specie_[k]].R();
    }
    if (coeffs_.lookupOrDefault<Switch>("fields", false))
    {
        steps_ = newField("combred:steps");
        error_ = newField("combred:error");
    }
}


template<class ChemistryModel>
Foam::dictionary Foam::combredChemistry<ChemistryModel>::checked() const
{
    const dictionary coeffs(this->subDict("combredCoeffs"));
    const wordList known({"library", "tolerance", "log", "fields"});
    const dictionary& type(this->subDict("chemistryType"));

    if
    (
        type.lookupOrDefault<word>("method", "standard") != "standard"
     || type.lookupOrDefault<bool>("TDAC", false)
    )
    {
        FatalIOErrorInFunction(type)
            << "The solver combred advances every cell and tabulates nothing:"
            << " remove the method TDAC from chemistryType" << exit(FatalIOError);
    }

    for (const word& entry : coeffs.toc())
    {
        if (!known.found(entry))
        {
            FatalIOErrorInFunction(coeffs)
                << "Unknown entry " << entry << ": the entries are "
                << flatOutput(known) << exit(FatalIOError);
        }
    }

    return coeffs;
}


template<class ChemistryModel>
combred::Library Foam::combredChemistry<ChemistryModel>::loaded() const
{
    const fileName name(coeffs_.get<fileName>("library").expand());
    const fileName file
    (
        name.isAbsolute() ? name : this->mesh().time().globalPath()/name
    );

    try
    {
        combred::Library library(file);

        if (coeffs_.found("tolerance"))
        {
            library.set_tolerance(coeffs_.get<scalar>("tolerance"));
        }

        return library;
    }
    catch (const std::exception& error)
    {
        FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
        throw;
    }
}


template<class ChemistryModel>
Foam::labelList Foam::combredChemistry<ChemistryModel>::matched() const
{
    wordList ours(this->nSpecie_), theirs(label(library_.species().size()));
    forAll(ours, i) { ours[i] = this->Y_[i].member(); }
    forAll(theirs, k) { theirs[k] = word(library_.species()[k], false); }

    wordList missing, surplus;
    labelList specie(theirs.size());
    forAll(theirs, k)
    {
        specie[k] = ours.find(theirs[k]);
        if (specie[k] < 0) { missing.append(theirs[k]); }
    }
    forAll(ours, i)
    {
        if (!theirs.found(ours[i])) { surplus.append(ours[i]); }
    }

    if (missing.size() || surplus.size())
    {
        FatalIOErrorInFunction(coeffs_)
            << "The mixture lacks the species " << flatOutput(missing)
            << " of the library, and the library has no " << flatOutput(surplus)
            << ". Use one mechanism for both: `combred export MECHANISM CASE"
            << " --openfoam` writes the library and the mixture. A species that"
            << " takes part in no reaction, as a tracer or argon, belongs into the"
            << " mechanism, too: its heat capacity changes T." << exit(FatalIOError);
    }

    compareThermo(specie);
    return specie;
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::compareThermo
(
    const labelUList& specie
) const
{
    forAll(specie, k)
    {
        const auto& ours = this->specieThermo_[specie[k]];
        const combred::Thermo& theirs = library_.thermo()[k];
        const scalar p = 1e5, range = mag(theirs.hot - theirs.cold);
        const scalar cold = ours.Ha(p, 298.15), hot = ours.Ha(p, 1500);

        if
        (
            mag(ours.W() - theirs.molar_mass) > 1e-3*theirs.molar_mass
         || mag(cold - theirs.cold) > 0.01*range
         || mag(hot - theirs.hot) > 0.01*range
        )
        {
            FatalIOErrorInFunction(coeffs_)
                << "Case and library differ in the thermodynamics of "
                << library_.species()[k].c_str() << ": molar mass "
                << ours.W() << " and " << theirs.molar_mass
                << " kg/kmol, enthalpy " << cold << " and " << theirs.cold
                << " J/kg at 298.15 K, " << hot << " and " << theirs.hot
                << " J/kg at 1500 K. `combred export MECHANISM CASE --openfoam`"
                << " writes both." << exit(FatalIOError);
        }
    }
}


template<class ChemistryModel>
Foam::autoPtr<Foam::volScalarField>
Foam::combredChemistry<ChemistryModel>::newField(const word& name) const
{
    return autoPtr<volScalarField>::New
    (
        IOobject
        (
            this->thermo().phasePropertyName(name),
            this->mesh().time().timeName(),
            this->mesh(),
            IOobject::NO_READ,
            IOobject::AUTO_WRITE
        ),
        this->mesh(),
        dimensionedScalar(dimless, Zero),
        zeroGradientFvPatchScalarField::typeName
    );
}


template<class ChemistryModel>
Foam::labelList Foam::combredChemistry<ChemistryModel>::active() const
{
    const scalarField& T = this->thermo().T().oldTime();
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
bool Foam::combredChemistry<ChemistryModel>::solved(const DeltaT& deltaT)
{
    const label cells = this->mesh().nCells();
    const label timeIndex = this->mesh().time().timeIndex();
    bool same =
        timeIndex == timeIndex_
     && deltaT_.size() == cells
     && !this->mesh().topoChanging();

    timeIndex_ = timeIndex;
    deltaT_.resize(cells);
    forAll(deltaT_, celli)
    {
        same = same && deltaT[celli] == deltaT_[celli];
        deltaT_[celli] = deltaT[celli];
    }

    return returnReduce(same, andOp<bool>());
}


template<class ChemistryModel>
template<class DeltaT>
Foam::scalar Foam::combredChemistry<ChemistryModel>::setRates
(
    const DeltaT& deltaT
)
{
    BasicChemistryModel<typename ChemistryModel::reactionThermo>::correct();

    if (!this->chemistry_)
    {
        return GREAT;
    }
    if (solved(deltaT))
    {
        return suggested_;
    }

    tally sum;
    const std::clock_t begun = std::clock();  // CPU time, to 1 us
    const labelList cells(active());

    forAll(this->RR_, i)
    {
        this->RR_[i].field() = 0;
    }
    for (autoPtr<volScalarField>* field : {&steps_, &error_})
    {
        if (field->valid()) { (*field)->primitiveFieldRef() = 0; }
    }

    for (label start = 0; start < cells.size(); start += block)
    {
        const label n = min(block, cells.size() - start);
        advance(SubList<label>(cells, n, start), sum);
    }

    for (autoPtr<volScalarField>* field : {&steps_, &error_})
    {
        if (field->valid()) { (*field)->correctBoundaryConditions(); }
    }
    if (log_)
    {
        report(sum, scalar(std::clock() - begun)/CLOCKS_PER_SEC);
    }
    suggested_ = returnReduce(sum.deltaT, minOp<scalar>());
    return suggested_;
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::advance
(
    const labelUList& cells,
    tally& sum
)
{
    gather(cells);
    dt_.resize(cells.size());
    rho_.resize(cells.size());
    forAll(cells, row)
    {
        dt_[row] = deltaT_[cells[row]];
        rho_[row] = density(&states_[row*library_.columns()]);
    }

    combred::Steps steps;
    try
    {
        steps = library_.advance(states_.data(), dt_.size(), dt_.data());
    }
    catch (const std::exception& error)
    {
        FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
    }

    forAll(cells, row)
    {
        const label celli = cells[row];
        const scalar dt = dt_[row];

        if (std::isinf(steps.error[row]))
        {
            refuse(celli, "cannot be advanced over " + Foam::name(dt) + " s");
        }

        const double* state = &states_[row*library_.columns()];
        setRate(celli, state, rho_[row]/dt);
        count(celli, steps.count[row], steps.error[row], state[0], dt, sum);
    }
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::count
(
    const label celli,
    const scalar steps,
    const scalar error,
    const scalar T,
    const scalar dt,
    tally& sum
)
{
    const scalar rise = mag(T - this->thermo().T().oldTime()[celli]);
    const scalar factor =
        min(fewSteps/max(steps, scalar(1)), smallRise/max(rise, SMALL));
    this->deltaTChem_[celli] =
        min(min(factor, scalar(2))*dt, this->deltaTChemMax_);

    (steps == 0 ? sum.network : sum.solver) += 1;
    sum.steps += steps;
    sum.most = max(sum.most, steps);
    sum.error = max(sum.error, error);
    sum.deltaT = min(sum.deltaT, this->deltaTChem_[celli]);

    if (steps_.valid())
    {
        (*steps_)[celli] = steps;
        (*error_)[celli] = error;
    }
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::gather
(
    const labelUList& cells
) const
{
    const scalarField& T = this->thermo().T().oldTime();
    const scalarField& p = this->thermo().p().oldTime();
    const std::size_t width = library_.columns();
    states_.resize(cells.size()*width);

    forAll(cells, row)
    {
        const label celli = cells[row];
        double* state = &states_[row*width];
        state[0] = T[celli];
        state[1] = p[celli];
        forAll(specie_, k)
        {
            state[2 + k] = before(specie_[k])[celli];
        }
    }
}


template<class ChemistryModel>
const Foam::volScalarField&
Foam::combredChemistry<ChemistryModel>::before(const label i) const
{
    const volScalarField& Y = this->Y_[i];
    return Y.oldTime();
}


template<class ChemistryModel>
Foam::scalar Foam::combredChemistry<ChemistryModel>::density
(
    const double* state
) const
{
    scalar mass = 0, R = 0;
    forAll(R_, k)
    {
        mass += state[2 + k];
        R += R_[k]*state[2 + k];
    }
    return state[1]*mass/(R*state[0]);
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::setRate
(
    const label celli,
    const double* state,
    const scalar rhoByDt
)
{
    scalar total = 0;  // the cell's mass, which the library has normalised
    forAll(specie_, k)
    {
        total += max(before(k)[celli], scalar(0));
    }
    forAll(specie_, k)
    {
        const label i = specie_[k];
        const scalar Y = max(before(i)[celli], scalar(0));
        this->RR_[i][celli] = rhoByDt*(total*state[2 + k] - Y);
    }
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::refuse
(
    const label celli,
    const std::string& why
) const
{
    scalarField Y(this->nSpecie_);
    forAll(Y, i) { Y[i] = before(i)[celli]; }
    labelList order(identity(Y.size()));
    std::sort
    (
        order.begin(),
        order.end(),
        [&](const label i, const label j) { return mag(Y[i]) > mag(Y[j]); }
    );

    FatalErrorInFunction
        << "Cell " << celli << " at " << this->mesh().C()[celli]
        << " m " << why.c_str() << ": T = "
        << this->thermo().T().oldTime()[celli] << " K, p = "
        << this->thermo().p().oldTime()[celli] << " Pa, sum Y = " << sum(Y);
    for (label i = 0; i < min(label(6), Y.size()); ++i)
    {
        FatalError
            << ", " << this->Y_[order[i]].member() << " " << Y[order[i]];
    }
    FatalError
        << nl << "The library takes T from 100 to 6000 K, p > 0, Y > -1e-6 and"
        << " sum Y from 0.999 to 1.001. A flow that leaves these ranges"
        << " diverges: take a smaller deltaT or maxCo." << exit(FatalError);
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::report
(
    const tally& sum,
    const scalar seconds
) const
{
    const sumOp<scalar> total;
    const maxOp<scalar> largest;
    const scalar network = returnReduce(sum.network, total);
    const scalar solver = returnReduce(sum.solver, total);
    const scalar cells = network + solver;

    Info<< "combred: " << label(cells) << " cells, " << label(network)
        << " by the network, " << label(solver) << " by the solver, "
        << returnReduce(sum.steps, total)/max(cells, scalar(1))
        << " steps a cell, at most " << label(returnReduce(sum.most, largest))
        << ", " << returnReduce(seconds, largest)
        << " s of CPU time, error ratio at most "
        << returnReduce(sum.error, largest) << endl;
}


template<class ChemistryModel>
Foam::scalar Foam::combredChemistry<ChemistryModel>::solve(const scalar deltaT)
{
    return min(setRates(UniformField<scalar>(deltaT)), 2*deltaT);
}


template<class ChemistryModel>
Foam::scalar Foam::combredChemistry<ChemistryModel>::solve
(
    const scalarField& deltaT
)
{
    return setRates(deltaT);
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::calculate()
{
    if (this->chemistry_)
    {
        FatalIOErrorInFunction(coeffs_)
            << "The solver combred integrates the reaction rates over the time"
            << " step, and the combustion model asks for instantaneous rates:"
            << " remove `integrateReactionRate no` from combustionProperties"
            << exit(FatalIOError);
    }
}


template<class ChemistryModel>
Foam::tmp<Foam::volScalarField>
Foam::combredChemistry<ChemistryModel>::tc() const
{
    tmp<volScalarField> ttc
    (
        volScalarField::New
        (
            "tc",
            this->mesh(),
            dimensionedScalar("small", dimTime, SMALL),
            zeroGradientFvPatchScalarField::typeName
        )
    );
    volScalarField& tc = ttc.ref();

    if (this->chemistry_)
    {
        const labelList cells(identity(tc.size()));

        for (label start = 0; start < cells.size(); start += block)
        {
            const label n = min(block, cells.size() - start);
            gather(SubList<label>(cells, n, start));
            const std::vector<double> found(library_.time_scale(states_.data(), n));

            for (label row = 0; row < n; ++row)
            {
                if (std::isnan(found[row]))
                {
                    refuse(start + row, "has no valid state");
                }
                tc[start + row] = found[row];
            }
        }
    }

    tc.correctBoundaryConditions();
    return ttc;
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
