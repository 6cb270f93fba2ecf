-- Lmod's module of Ferrite. It finds the installation above itself, so that the directory may be moved.
help([[Ferrite starts parallel programs and manages them: prterun, prte, prun, pterm, pdvm.]])
whatis("Name: ferrite")
whatis("Description: elastic run-time environment for parallel programs")
local root = myFileName():match("^(.*)/share/modulefiles/")
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
-- The empty element stands for the pages of the system, which a MANPATH would hide.
append_path("MANPATH", "")
-- Open MPI 5 starts its jobs with this prterun.
setenv("OMPI_PRTERUN", pathJoin(root, "bin/prterun"))
