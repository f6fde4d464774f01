#!/bin/bash
# Question: what else changes in a file of OpenFOAM when foamDictionary sets one entry?
# Guess (60 %): all other numbers are rounded to six digits. Who knows sed or foamlib expects that nothing else changes.
# What happens: every number of the file is rounded. Setting the molar mass of one species rounds the coefficients and the rate
#   constants of all others: A 1.23456789012345e+13 becomes 1.23457e+13, -922.7977 becomes -922.798, silently. writePrecision of
#   system/controlDict changes nothing, and the answer to `foamDictionary -entry ... -value` has six digits, too.
# Version: OpenFOAM 1912 of Debian 12 (openfoam 1912.200626).
# Who meets it: whose scripts set entries of chemistry or thermophysical files (or initial values) by foamDictionary.
# Instead: foamlib, or #include of a small file with the changing entries.
# Date: 2026-11-29
set -eu
if ! command -v foamDictionary >/dev/null; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "NOT CHECKED: needs OpenFOAM, or root and apt"; exit 0; }
  { apt-get update && apt-get install -y --no-install-recommends openfoam; } >/dev/null 2>&1 ||
    { echo "NOT CHECKED: openfoam cannot be installed here"; exit 0; }
fi
version=$(dpkg-query -W -f '${Version}' openfoam 2>/dev/null || true)
case $version in 1912.*) echo "openfoam $version" ;; *) echo "NOT CHECKED: needs openfoam 1912 of Debian"; exit 0 ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir system
cat > system/controlDict <<'FILE'
FoamFile { version 2.0; format ascii; class dictionary; object controlDict; }
writePrecision 16;
FILE
cat > thermo <<'FILE'
FoamFile { version 2.0; format ascii; class dictionary; object thermo; }
N2
{
    specie { molWeight 28.0134; }
    thermodynamics { highCpCoeffs (2.92664 0.0014879768 -5.68476e-07 1.0097038e-10 -6.753351e-15 -922.7977 5.980528); }
    arrhenius { A 1.23456789012345e+13; Ta 10542.123456; }
}
AR { specie { molWeight 39.948; } }
FILE
export WM_PROJECT_DIR=${WM_PROJECT_DIR:-/usr/share/openfoam}
foamDictionary -entry AR.specie.molWeight -set 39.95 thermo > log
value=$(foamDictionary -entry N2.arrhenius.A -value thermo)
sed -n '/^N2/,/^}/p' thermo
echo "foamDictionary -entry N2.arrhenius.A -value: $value"
fail() { echo "FAIL: $1"; exit 1; }
grep -q 'A *1.23457e+13;' thermo || fail "A has kept its digits"
grep -q 'Ta *10542.1;' thermo || fail "Ta has kept its digits"
grep -q '(* *2.92664 0.00148798 ' thermo || fail "the coefficients have kept their digits"
grep -q 'molWeight *39.95;' thermo || fail "the entry was not set"
[ "$value" = 1.23457e+13 ] || fail "-value has printed $value"
echo PASS
