#!/usr/bin/env bash
# OpenFOAM v1912 of Debian 12, with its headers, and combred's chemistry solver for it:
#
#     bash coupling/openfoam/install.sh FOLDER      as root
#     source FOLDER/environment                     in every shell that runs OpenFOAM
#
# FOLDER receives the sources of OpenFOAM (260 MB; the package has neither headers nor wmake),
# libcombredChemistry.so and the file `environment`. A second call compiles the chemistry solver
# alone. Ends with status 69 where the packages cannot be had, with another where it fails.
set -euo pipefail
[ $# = 1 ] || { echo "usage: bash $0 FOLDER" >&2; exit 2; }
here=$(realpath "$(dirname "$0")")
mkdir -p "$1"
folder=$(realpath "$1")

# A list of sources of our own: those of the machine stay as they are.
fetch_sources() {
    . /etc/os-release
    mkdir -p "$folder/lists/partial"
    echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" > "$folder/sources.list"
    local options=(-o Dir::Etc::SourceList="$folder/sources.list"
        -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists="$folder/lists" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update -qq && cd "$folder" && apt-get "${options[@]}" source -qq openfoam
}
unavailable() {
    echo "Debian's packages of OpenFOAM cannot be had: call this as root, with a network" >&2
    exit 69
}

has() { command -v "$1" >/dev/null; }
if ! { has reactingFoam && has dpkg-source && has g++ && has make; }; then
    apt-get update -qq && apt-get install -y -qq openfoam g++ make dpkg-dev >/dev/null || unavailable
fi
find_tree() { find "$folder" -maxdepth 1 -type d -name 'openfoam-1912*' | head -n 1; }
[ -n "$(find_tree)" ] || (fetch_sources) || unavailable
tree=$(find_tree)

cat > "$folder/environment" <<END_OF_FILE
source $tree/etc/bashrc >/dev/null 2>&1  # it warns that the sources are not compiled
export FOAM_USER_LIBBIN=$folder LD_LIBRARY_PATH=$folder:\$LD_LIBRARY_PATH OMP_NUM_THREADS=1
END_OF_FILE
set +eu
source "$folder/environment"
set -eu

make -s -C "$WM_DIR/src" >/dev/null
for part in OpenFOAM OSspecific/POSIX finiteVolume meshTools ODE transportModels/compressible \
    thermophysicalModels/{basic,specie,reactionThermo,chemistryModel}; do
    wmakeLnInclude -silent "$tree/src/$part" >/dev/null
done
wclean libso "$here" >/dev/null
wmake -s libso "$here" >/dev/null
echo "$folder/libcombredChemistry.so is ready: source $folder/environment"
