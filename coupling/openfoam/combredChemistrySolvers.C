// The solver `combred` for perfect gases with JANAF thermodynamics and Sutherland transport, by
// enthalpy and by internal energy; another mixture needs a line of its own here.
#include "StandardChemistryModel.H"
#include "addToRunTimeSelectionTable.H"
#include "combredChemistry.H"
#include "psiReactionThermo.H"
#include "rhoReactionThermo.H"
#include "thermoPhysicsTypes.H"

#define makeCombred(Comp, Thermo)                                              \
                                                                               \
    typedef combredChemistry<StandardChemistryModel<Comp, Thermo>> combred##Comp##Thermo; \
                                                                               \
    defineTemplateTypeNameAndDebugWithName                                     \
    (                                                                          \
        combred##Comp##Thermo,                                                 \
        ("combred<" + word(StandardChemistryModel<Comp, Thermo>::typeName_())  \
        + "<" + word(Comp::typeName_()) + "," + Thermo::typeName() + ">>").c_str(), \
        0                                                                      \
    );                                                                         \
                                                                               \
    BasicChemistryModel<Comp>::                                                \
        addthermoConstructorToTable<combred##Comp##Thermo>                     \
        addCombred##Comp##Thermo##ConstructorToTable_,                         \
        addCombredTDAC##Comp##Thermo##ConstructorToTable_                      \
        (                                                                      \
            "combred<TDAC<" + word(Comp::typeName_()) + ","                    \
          + Thermo::typeName() + ">>"                                          \
        );  // a constructor that says why there is none

namespace Foam
{
    makeCombred(psiReactionThermo, gasHThermoPhysics);
    makeCombred(psiReactionThermo, gasEThermoPhysics);
    makeCombred(rhoReactionThermo, gasHThermoPhysics);
    makeCombred(rhoReactionThermo, gasEThermoPhysics);
}
