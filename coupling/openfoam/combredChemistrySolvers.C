// The model `combred` under the names by which each version of OpenFOAM looks for it: of Foundation
// 14 the model's own; before, one for every thermodynamics of perfect gases with JANAF polynomials.
#include <memory>

#include "addToRunTimeSelectionTable.H"
#include "combredChemistry.H"

namespace Foam
{

//- Entries of the selection table of a chemistry model; methods: what precedes the thermodynamics
template<class ChemistryModel>
class combredEntries
{
    typedef typename ChemistryModel::template
        addthermoConstructorToTable<combredChemistry<ChemistryModel>> Entry;

    std::vector<std::unique_ptr<Entry>> entries_;

    void add(const std::string& name)
    {
        entries_.emplace_back(new Entry(word(name, false)));
    }

public:

    combredEntries(const std::vector<std::string>& methods)
    {
        add("combred");
        for (const std::string& method : methods)
        for (const std::string transport : {"sutherland", "const", "polynomial", "logPolynomial"})
        for (const std::string energy : {"sensibleEnthalpy", "sensibleInternalEnergy"})
        {
            add
            (
                "combred<" + method + transport + "<janaf<perfectGas<specie>>,"
              + energy + ">>>"
            );
        }
    }
};

// TDAC has names for a constructor that says why there is none.
#if __has_include("BasicChemistryModel.H")

    typedef combredChemistry<BasicChemistryModel<psiReactionThermo>> combredPsi;
    typedef combredChemistry<BasicChemistryModel<rhoReactionThermo>> combredRho;

    defineTemplateTypeNameAndDebugWithName(combredPsi, "combred", 0);
    defineTemplateTypeNameAndDebugWithName(combredRho, "combred", 0);

    static const combredEntries<BasicChemistryModel<psiReactionThermo>>
        psiEntries({"standard<psiReactionThermo,", "TDAC<psiReactionThermo,"});
    static const combredEntries<BasicChemistryModel<rhoReactionThermo>>
        rhoEntries({"standard<rhoReactionThermo,", "TDAC<rhoReactionThermo,"});

#elif __has_include("basicChemistryModel.H")

    typedef combredChemistry<basicChemistryModel> combredFluid;

    defineTemplateTypeNameAndDebugWithName(combredFluid, "combred", 0);

    static const combredEntries<basicChemistryModel>
        entries({"standard<", "TDAC<", "chemistryModel<"});

#else

    typedef combredChemistry<chemistryModel> combredFluid;

    defineTemplateTypeNameAndDebugWithName(combredFluid, "combred", 0);

    static const combredEntries<chemistryModel> entries({});

#endif

} // End namespace Foam
