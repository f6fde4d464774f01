#include <algorithm>
#include <ctime>
#include <exception>

#include "UniformField.H"
#include "thermodynamicConstants.H"
#include "zeroGradientFvPatchFields.H"
#include "combredChemistry.H"

template<class ChemistryModel>
template<class Thermo>
Foam::combredChemistry<ChemistryModel>::combredChemistry(Thermo& thermo)
:
    ChemistryModel(thermo),
    coeffs_(checked()),
    log_(coeffs_.lookupOrDefault<Switch>("log", true)),
    cells_(loaded()),
    R_(Y().size()),
    RR_(Y().size()),
    suggested_(1e30)
{
    compareThermo();
    forAll(RR_, i)
    {
        RR_.set
        (
            i,
            new volScalarField::Internal
            (
                IOobject
                (
                    "RR." + Y()[i].name(),
                    combredVersion::timeName(this->mesh().time(), 0),
                    this->mesh(),
                    IOobject::NO_READ,
                    IOobject::NO_WRITE
                ),
                this->mesh(),
                dimensionedScalar("zero", dimMass/dimVolume/dimTime, 0)
            )
        );
    }
    if (coeffs_.lookupOrDefault<Switch>("fields", false))
    {
        fields_.setSize(2);
        fields_.set(0, newField("combred:steps"));
        fields_.set(1, newField("combred:error"));
    }
}


template<class ChemistryModel>
Foam::dictionary Foam::combredChemistry<ChemistryModel>::checked() const
{
    const dictionary coeffs(this->subDict("combredCoeffs"));
    const std::vector<std::string> known{"library", "tolerance", "log", "fields"};
    const dictionary type(this->subOrEmptyDict("chemistryType"));

    if
    (
        type.lookupOrDefault<word>("method", "standard") == "TDAC"
     || type.lookupOrDefault<bool>("TDAC", false)
    )
    {
        FatalIOErrorInFunction(type)
            << "The solver combred advances every cell and tabulates nothing:"
            << " remove the method TDAC from chemistryType" << exit(FatalIOError);
    }
    for (const char* name : {"tabulation", "reduction"})
    {
        const dictionary of(this->subOrEmptyDict(name));

        if (of.lookupOrDefault<word>("method", "none") != "none")
        {
            FatalIOErrorInFunction(of)
                << "The solver combred advances every cell with all species:"
                << " write `method none;` in " << name << exit(FatalIOError);
        }
    }

    for (const word& entry : coeffs.toc())
    {
        if (std::find(known.begin(), known.end(), entry) == known.end())
        {
            FatalIOErrorInFunction(coeffs)
                << "Unknown entry " << entry << ": the entries are "
                << combred::listed(known).c_str() << exit(FatalIOError);
        }
    }

    return coeffs;
}


template<class ChemistryModel>
combred::Cells Foam::combredChemistry<ChemistryModel>::loaded() const
{
    const Time& time = this->mesh().time();
    fileName file(coeffs_.lookup("library"));
    file.expand();
    if (!file.isAbsolute())
    {
        file = time.rootPath()/time.globalCaseName()/file;
    }
    std::vector<std::string> names;
    forAll(Y(), i)
    {
        names.push_back(Y()[i].member());
    }

    try
    {
        combred::Cells cells(file, names);

        if (coeffs_.found("tolerance"))
        {
            cells.set_tolerance(coeffs_.lookupOrDefault<scalar>("tolerance", 0));
        }

        return cells;
    }
    catch (const combred::Mismatch& error)
    {
        FatalIOErrorInFunction(coeffs_)
            << error.what() << " `combred export MECHANISM CASE --openfoam`"
            << " writes the library and the mixture." << exit(FatalIOError);
        throw;
    }
    catch (const std::exception& error)
    {
        FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
        throw;
    }
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::compareThermo()
{
    const word name(this->thermo().thermoName());

    if (name.find("perfectGas") == std::string::npos)
    {
        FatalIOErrorInFunction(*this)
            << "The solver combred is for mixtures of perfect gases, and the"
            << " thermodynamics are " << name << ": write `equationOfState"
            << " perfectGas;` in thermoType" << exit(FatalIOError);
    }

    const auto& mixture = combredVersion::composition(this->thermo(), 0);
    const scalar p = 1e5;

    forAll(R_, i)
    {
        const scalar W = combredVersion::molarMass(mixture, i, 0);
        R_[i] = constant::thermodynamic::RR/W;

        try
        {
            cells_.compare
            (
                i,
                W,
                combredVersion::enthalpy(mixture, i, p, 298.15),
                combredVersion::enthalpy(mixture, i, p, 1500)
            );
        }
        catch (const combred::Mismatch& error)
        {
            FatalIOErrorInFunction(coeffs_)
                << error.what() << " `combred export MECHANISM CASE --openfoam`"
                << " writes both." << exit(FatalIOError);
        }
    }
}


template<class ChemistryModel>
Foam::volScalarField* Foam::combredChemistry<ChemistryModel>::newField
(
    const word& name
) const
{
    return new volScalarField
    (
        IOobject
        (
            name,
            combredVersion::timeName(this->mesh().time(), 0),
            this->mesh(),
            IOobject::NO_READ,
            IOobject::AUTO_WRITE
        ),
        this->mesh(),
        dimensionedScalar("zero", dimless, 0),
        zeroGradientFvPatchScalarField::typeName
    );
}


template<class ChemistryModel>
Foam::labelList Foam::combredChemistry<ChemistryModel>::active() const
{
    const volScalarField& T = this->thermo().T();
    const scalarField& T0 = T.oldTime();
    const scalar Treact = this->template lookupOrDefault<scalar>("Treact", 0);
    labelList cells(T0.size());
    label n = 0;

    forAll(T0, celli)
    {
        if (T0[celli] > Treact)
        {
            cells[n++] = celli;
        }
    }

    cells.setSize(n);
    return cells;
}


template<class ChemistryModel>
std::function<void(Foam::label, combred::Cell&)>
Foam::combredChemistry<ChemistryModel>::beginning() const
{
    const volScalarField& T = this->thermo().T();
    const volScalarField& p = this->thermo().p();
    const scalarField& T0 = T.oldTime();
    const scalarField& p0 = p.oldTime();
    std::vector<const scalarField*> Y0;
    forAll(Y(), i)
    {
        const volScalarField& Yi = Y()[i];
        Y0.push_back(&Yi.oldTime());
    }

    return [&T0, &p0, Y0](const label celli, combred::Cell& cell)
    {
        cell.T = T0[celli];
        cell.p = p0[celli];
        for (std::size_t i = 0; i < Y0.size(); ++i)
        {
            cell.Y[i] = (*Y0[i])[celli];
        }
    };
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::clear()
{
    const label n = this->mesh().nCells();

    scalarField& deltaTChem = this->deltaTChem_;
    deltaTChem.setSize(n);
    deltaTChem = this->deltaTChemIni_;
    forAll(RR_, i)
    {
        scalarField& RR = RR_[i];
        RR.setSize(n);
        RR = 0;
    }
    forAll(fields_, i)
    {
        fields_[i].primitiveFieldRef() = 0;
    }
}


template<class ChemistryModel>
template<class DeltaT>
Foam::scalar Foam::combredChemistry<ChemistryModel>::setRates
(
    const DeltaT& deltaT
)
{
    if (!this->chemistry_)
    {
        return 1e30;
    }
    const bool repeated = timeSteps_.repeated
    (
        this->mesh().time().timeIndex(),
        this->mesh().nCells(),
        [&](const std::size_t celli) { return deltaT[celli]; }
    ) && !combredVersion::topologyChanges(this->mesh(), 0);

    if (returnReduce(scalar(repeated), combredVersion::Smallest()) > 0)
    {
        return suggested_;
    }

    const std::clock_t begun = std::clock();  // CPU time, to 1 us
    const labelList cells(active());
    const auto read = beginning();
    combred::Tally tally;
    clear();

    try
    {
        tally = cells_.advance
        (
            cells.size(),
            [&](const std::size_t row, combred::Cell& cell)
            {
                read(cells[row], cell);
                cell.dt = timeSteps_[cells[row]];
            },
            [&](const std::size_t row, const combred::Cell& cell)
            {
                setRate(cells[row], cell);
            }
        );
    }
    catch (const combred::Refused& error)
    {
        refuse(cells[error.cell], error);
    }
    catch (const std::exception& error)
    {
        FatalIOErrorInFunction(coeffs_) << error.what() << exit(FatalIOError);
    }

    forAll(fields_, i)
    {
        fields_[i].correctBoundaryConditions();
    }

    tally = tally.over_processes
    (
        [](const scalar x) { return returnReduce(x, combredVersion::Sum()); },
        [](const scalar x) { return returnReduce(x, combredVersion::Largest()); },
        [](const scalar x) { return returnReduce(x, combredVersion::Smallest()); }
    );
    if (log_)
    {
        const scalar seconds = scalar(std::clock() - begun)/CLOCKS_PER_SEC;
        Info<< tally.line(returnReduce(seconds, combredVersion::Largest())).c_str()
            << endl;
    }
    suggested_ = min(scalar(tally.dt_next), this->deltaTChemMax_);
    return suggested_;
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::setRate
(
    const label celli,
    const combred::Cell& cell
)
{
    // The density of the state: that of thermo() changes with the outer correctors
    scalar mass = 0, R = 0;
    forAll(R_, i)
    {
        mass += cell.Y[i];
        R += R_[i]*cell.Y[i];
    }
    const scalar rhoByDt = cell.p*mass/(R*cell.T*cell.dt);

    forAll(RR_, i)
    {
        RR_[i][celli] = rhoByDt*cell.dY[i];
    }
    this->deltaTChem_[celli] = min(scalar(cell.dt_next), this->deltaTChemMax_);
    if (fields_.size())
    {
        fields_[0][celli] = cell.steps;
        fields_[1][celli] = cell.error;
    }
}


template<class ChemistryModel>
void Foam::combredChemistry<ChemistryModel>::refuse
(
    const label celli,
    const combred::Refused& error
) const
{
    FatalErrorInFunction
        << "Cell " << celli << " at " << this->mesh().C()[celli] << " m "
        << error.what() << " A flow that leaves these ranges diverges: take a"
        << " smaller deltaT or maxCo." << exit(FatalError);
}


template<class ChemistryModel>
std::logic_error Foam::combredChemistry<ChemistryModel>::noReactions() const
{
    FatalIOErrorInFunction(coeffs_)
        << "The solver combred has no rates of single reactions: remove the"
        << " function object that asks for them" << exit(FatalIOError);
    return std::logic_error("");
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
            dimensionedScalar("small", dimTime, 1e-15),
            zeroGradientFvPatchScalarField::typeName
        )
    );
    volScalarField& tc = ttc.ref();

    if (this->chemistry_)
    {
        const auto read = beginning();

        try
        {
            cells_.time_scale
            (
                tc.size(),
                [&](const std::size_t celli, combred::Cell& cell)
                {
                    read(celli, cell);
                },
                [&](const std::size_t celli, const scalar seconds)
                {
                    tc[celli] = seconds;
                }
            );
        }
        catch (const combred::Refused& error)
        {
            refuse(error.cell, error);
        }
    }

    tc.correctBoundaryConditions();
    return ttc;
}


template<class ChemistryModel>
Foam::tmp<Foam::volScalarField>
Foam::combredChemistry<ChemistryModel>::Qdot() const
{
    tmp<volScalarField> tQdot
    (
        volScalarField::New
        (
            "Qdot",
            this->mesh(),
            dimensionedScalar("zero", dimEnergy/dimVolume/dimTime, 0)
        )
    );

    if (this->chemistry_)
    {
        const auto& mixture = combredVersion::composition(this->thermo(), 0);
        scalarField& Qdot = tQdot.ref().primitiveFieldRef();

        forAll(RR_, i)
        {
            const scalarField& RR = RR_[i];
            Qdot -= combredVersion::formationEnthalpy(mixture, i, 0)*RR;
        }
    }

    return tQdot;
}
