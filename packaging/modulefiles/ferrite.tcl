#%Module1.0
# Module of Ferrite for Environment Modules. It finds the installation above itself, so that the directory may be moved.
proc ModulesHelp {} {
    puts stderr "Ferrite starts parallel programs and manages them: prterun, prte, prun, pterm, pdvm."
}
module-whatis "elastic run-time environment for parallel programs"
# ROOT/share/modulefiles/ferrite/VERSION
set root [file dirname [file dirname [file dirname [file dirname [file normalize $ModulesCurrentModulefile]]]]]
prepend-path PATH $root/bin
prepend-path MANPATH $root/share/man
# The empty element stands for the pages of the system, which a MANPATH would hide.
append-path MANPATH {}
# Open MPI 5 starts its jobs with this prterun.
setenv OMPI_PRTERUN $root/bin/prterun
