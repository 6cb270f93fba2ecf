# Spack recipe of Ferrite. Copy this directory to REPO/packages/ferrite of a repository of your own
# (`spack repo create`). The source is a checkout or archive that you name, as nothing is published yet:
#   spack install ferrite source=/path/to/checkout
from spack.package import *


class Ferrite(Package):
    """Elastic run-time environment for parallel programs: a PMIx run-time with the options of PRRTE."""

    # Ferrite has no site yet. Whoever publishes this recipe names one here, and a maintainer below.
    homepage = "https://example.invalid/ferrite"
    has_code = False  # the source is the directory of the variant `source`

    maintainers = []
    license("BSD-3-Clause")

    version("0.1.0")

    variant("source", default="none", description="Directory of the source", values=lambda value: True)

    depends_on("rust@1.95:", type="build")
    depends_on("c", type="build")
    depends_on("pmix@4.2:", type=("build", "link", "run"))
    depends_on("openssh", type="run")

    conflicts("source=none", msg="name the source: spack install ferrite source=/path/to/checkout")

    def install(self, spec, prefix):
        source = spec.variants["source"].value
        cargo = which("cargo")
        with working_dir(source):
            cargo("build", "--locked", "--release", "--target-dir", join_path(self.stage.path, "target"))
        built = join_path(self.stage.path, "target", "release")
        mkdirp(prefix.bin)
        for name in ("prterun", "prte", "prted", "prun", "pterm", "prte_info", "pdvm", "ferrite-pmixd"):
            install(join_path(built, name), prefix.bin)
        for section in ("1", "7"):
            pages = join_path(prefix.share.man, "man" + section)
            mkdirp(pages)
            install(join_path(source, "docs", "man", "*." + section), pages)
        install(join_path(source, "LICENSE"), prefix)

    def setup_run_environment(self, env):
        env.set("FERRITE_LIBPMIX", join_path(self.spec["pmix"].prefix.lib, "libpmix.so.2"))
        env.set("OMPI_PRTERUN", self.prefix.bin.prterun)
